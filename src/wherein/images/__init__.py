"""Pictures: loading them, motifs with their masks, filters, polygons."""
