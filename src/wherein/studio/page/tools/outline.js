// Outline a part corner by corner.
import { addPart, colorOf, partOf, setPoints, within } from "../draft.js";
import { area, crossesItself, distance } from "../geometry.js";
import { dot, stroke, trace } from "../paint/shapes.js";
import { repaint, view } from "../stage.js";
import { tell } from "../status.js";
import { edit, now, update, watch } from "../store.js";
import { Crosshair } from "./crosshair.js";

const LEAST = 12; // square pixels that are worth a part

let corners = [];
let pointer = null;
let sheet = null; // the picture that the corners are on
const crosshair = new Crosshair();

const onPicture = (place) => within(now().draft.picture, place);

/** What an outline becomes: a new part, or the new outline of the one that is drawn anew. */
export function finish(points) {
  const { draft, redrawn } = now();
  if (points.length < 3 || area(points) < LEAST) {
    tell(
      crossesItself(points)
        ? "That outline crosses itself, and its halves cancel out: draw around the part."
        : "That is too small to be a part: an outline has three corners or more.",
    );
    return update({ redrawn: null });
  }
  if (partOf(draft, redrawn)) {
    const name = partOf(draft, redrawn).name;
    edit(`outline “${name}” anew`, setPoints(draft, redrawn, points), { selected: redrawn, corner: null });
  } else {
    const [next, id] = addPart(draft, points);
    const { name, parent } = partOf(next, id);
    edit(`outline “${name}”`, next, { selected: id, corner: null });
    tell(
      parent === null
        ? `Outlined. Now outline what moves on it, one part at a time, or go to Find.`
        : `It hangs on “${partOf(next, parent).name}”. Drag its joint to where it turns, and give it a name.`,
    );
  }
  update({ tool: "select", redrawn: null });
}

function add(place) {
  corners.push(onPicture(place));
  repaint();
}

function close() {
  const points = corners;
  corners = [];
  crosshair.place = null;
  finish(points);
}

/** Without its last corner: whether there was any. */
const takeBack = () => corners.pop() !== undefined;

const closes = ({ place, reach }) => corners.length > 2 && distance(place, corners[0]) <= reach * 1.3;

export const outlineTool = {
  name: "outline",
  cursor: "crosshair",
  hint: "Click around the part, corner by corner; the first corner or Enter closes it.",
  takeBack,

  down: () => true,

  drag(point) {
    pointer = point.place;
  },

  up(point) {
    crosshair.place = null;
    if (closes(point)) return close();
    add(point.place);
    pointer = point.place;
  },

  hover(point) {
    pointer = closes(point) ? corners[0] : point.place;
  },

  leave() {
    pointer = null;
  },

  double() {
    if (corners.length < 4) return; // the two presses were corners too, in one place
    corners.pop();
    close();
  },

  menu: takeBack,

  key(event) {
    const picture = now().draft.picture;
    if (!picture) return false;
    if (crosshair.key(event, picture)) pointer = crosshair.place;
    else if (event.key === " " && crosshair.place) add(crosshair.place);
    else if (event.key === "Enter" && corners.length) close();
    else if (event.key === "Backspace" && corners.length) takeBack();
    else if (event.key === "Escape") {
      if (!corners.length) update({ tool: "select", redrawn: null });
      corners = [];
      crosshair.place = null;
    } else return false;
    repaint();
    return true;
  },

  cancel() {
    corners = [];
    pointer = crosshair.place = null;
  },

  paint(context) {
    const color = colorOf(now().redrawn ?? 1 + Math.max(0, ...now().draft.parts.map((part) => part.id)));
    const line = pointer && corners.length ? [...corners, pointer] : corners;
    if (line.length > 1) {
      trace(context, line, false);
      stroke(context, view, color, 2);
    }
    corners.forEach((corner, k) =>
      dot(context, view, corner, color, { radius: k ? 3.5 : 6.5, filled: !k && corners.length > 2 }),
    );
    crosshair.paint(context, color);
  },
};

watch(["draft"], ({ draft: { picture } }) => {
  if (picture === sheet) return;
  sheet = picture;
  outlineTool.cancel();
});
