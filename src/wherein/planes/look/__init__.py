"""The first look: places of a whole scene where flat motifs may be; and which of their poses to follow."""
