"""Placement of pieces at their joints: from the root's frame down the tree, each piece about its own joint.

**Pieces** (`placing`). The frame of the parent determines the position of a piece's joint. The turn about the
joint is then the only unknown. It is found by descents that start from turns a basin of attraction apart.

**Groups** (`joint_groups`) turn but have no picture: their pieces determine the turn. A piece of a group is
searched for at every turn of the group combined with every turn of its own. The position g of the group's
joint is known, and each piece that is found shows the present position p of its own joint, which is q at
rest. The turn of the group is the least-squares solution

    arg Σ_k w_k conj(q_k − g) (p_k − g),   p_k the joint as found, in the frame of the group's parent,

over all pieces that agree on one turn. The other pieces are searched for again at that turn.

**Pieces attached to a hidden piece** (`behind_hidden`), such as the hand of a covered arm: if a piece is not
found, the pieces attached to it are searched for at every turn that it may have. One that is found determines
the turn of the hidden piece.
"""
