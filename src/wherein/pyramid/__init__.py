"""Image pyramids of scene and motif, ZNCC at every place of a scene, and refinement of poses at a scale."""
