"""The first look: places of a whole scene where flat motifs may be."""
