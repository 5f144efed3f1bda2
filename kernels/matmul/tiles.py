"""Which tile of the output a program takes."""

import triton
import triton.language as tl


@triton.jit
def tile_of(
    index,
    m,
    n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """Return row and column of a tile: down ``GROUP_M`` rows, then right, for the cache's sake."""
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    per_group = GROUP_M * tiles_n
    first_m = (index // per_group) * GROUP_M
    height = min(tiles_m - first_m, GROUP_M)
    inside = index % per_group
    return first_m + inside % height, inside // height
