// The directions of the arrow keys.

export const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The point moved by an arrow key: by one pixel, with Shift by ten; null for other keys. */
export function arrowMove(event, [x, y]) {
  const step = ARROWS[event.key];
  if (!step) return null;
  const by = event.shiftKey ? 10 : 1;
  return [x + step[0] * by, y + step[1] * by];
}
