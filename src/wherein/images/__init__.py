"""Pictures: loading, motifs with their masks, filters, channels, polygons."""
