"""kornia: use the pose from wherein in a differentiable warp, and compare scene and motif by SSIM.

python examples/with_kornia.py SCENE MOTIF
"""

import sys

import torch
from kornia.geometry import invert_affine_transform, warp_affine
from kornia.io import ImageLoadType, load_image
from kornia.metrics import ssim

import wherein

if len(sys.argv) != 3:
    sys.exit(__doc__)
scene, motif = (load_image(path, ImageLoadType.RGB32) for path in sys.argv[1:])  # (3, H, W) in [0, 1]
found = wherein.register(scene, motif, motion="similarity")
print(f"{found.status}: turned {found.angle:.2f}°, scale {found.scale:.3f}, ZNCC {found.zncc:.3f}")

# The matrix of kornia's warp_affine maps source → result, here scene → motif, so the pose is inverted. Pixel
# centres are at whole numbers in kornia too.
pose = torch.from_numpy(found.matrix).float()[None].requires_grad_()
upright = warp_affine(scene[None], invert_affine_transform(pose), dsize=motif.shape[-2:])
score = ssim(upright, motif[None], window_size=7).mean()
score.backward()
print(f"SSIM {score.item():.3f}, its gradient in the pose {pose.grad.norm().item():.2g}")
