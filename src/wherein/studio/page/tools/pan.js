// The pan tool: it handles no gesture, and a drag that no tool handles pans the picture.

export const panTool = {
  name: "pan",
  cursor: "grab",
  temporary: true,
  hint: "Drag to pan. Scroll or pinch to zoom.",
  touchHint: "Drag to pan. Pinch to zoom.",
};
