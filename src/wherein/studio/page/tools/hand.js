// Move the picture: whatever is not taken hold of is the picture, and here nothing is.

export const handTool = {
  name: "hand",
  cursor: "grab",
  inPassing: true,
  hint: "Drag to move the picture; turn the wheel or pinch to zoom.",
};
