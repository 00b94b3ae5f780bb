// The outline tool: outline a part corner by corner, with straight lines.
import { CornerTool } from "./corners.js";

export const outlineTool = new CornerTool(
  "outline",
  "Click around the part, corner by corner. Click the first corner or press Enter to close the outline.",
  "Tap around the part, corner by corner. Tap the first corner to close the outline.",
);
