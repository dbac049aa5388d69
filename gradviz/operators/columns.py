"""Products of filters with what lies under each window of an image, laid out in columns; and their gradients.

Where F has a filter in each row and X the elements under a window in each column,

    Y = F·X,   dF = dY·Xᵀ,   dX = Fᵀ·dY

in which an element's gradients from all columns are added up.
Source: Chellapilla, Puri, Simard, High Performance Convolutional Neural Networks for Document Processing (2006).
"""

from collections.abc import Callable, Iterator
from math import prod
from threading import local
from typing import Any, NamedTuple

import numpy as np

from .registry import Array
from .windows import Windows, out_of_phases

MOST_BYTES = 1 << 23
"""How much memory columns take at a time, unless those of one place are more. Each thread keeps it for the next time.

With less, BLAS spends its time on rearranging the filters; and new memory each time costs as much as filling it.
"""

MANY_SHARED = 128
"""Where a row of a window has so many elements, in all channels, its columns are laid out once for all of its rows.

With fewer, adding up the products takes more time than that saves; and bringing filters in order, where they are many.
"""

MANY_COLUMNS = 2048
"""With so many, the time that BLAS saves at X·dYᵀ is more than that of transposing the product."""

_of_thread = local()


def scratch(purpose: str, like: Array, dtype: np.dtype[Any], elements: int) -> Array:
    """Memory for so many elements, where `like` lies, which the next call in this thread may hand out again."""
    wanted = elements * dtype.itemsize
    if not isinstance(like, np.ndarray) or wanted > MOST_BYTES:
        return np.empty_like(like, dtype, shape=(elements,))
    memory = getattr(_of_thread, purpose, None)
    if memory is None or len(memory) < wanted:
        memory = np.empty(MOST_BYTES, np.uint8)
        setattr(_of_thread, purpose, memory)
    return memory[:wanted].view(dtype)


class Block(NamedTuple):
    """Some places of windows: the first in each dimension and the one behind the last; and their columns."""

    places: tuple[tuple[int, int], ...]
    columns: slice

    def __len__(self) -> int:
        return int(self.columns.stop - self.columns.start)


class Convolution(NamedTuple):
    """A linear map from `channels` images to `outputs` maps, each computed from the images of its own of `groups`.

    Where it pays, unless it `is_whole`, rows of windows share columns: one row of a window is laid out over all rows of
    an image, and the products with the rows of filters, the `taps`, are added up, each where it belongs.
    """

    batch: int
    windows: Windows
    groups: int
    channels: int
    outputs: int
    is_whole: bool = False

    @property
    def taps(self) -> int:
        """How many parts of a window share columns: its rows, or 1, the window as a whole."""
        rows, *others = self.windows.kernel
        if self.is_whole or self.windows.stride[0] > 1:
            return 1
        elements, columns = self.channels // self.groups * prod(others), self.batch * prod(self.windows.places)
        return rows if elements >= MANY_SHARED and columns * self.groups >= 2 * self.outputs else 1

    def beside(self, *factors: Array) -> "Convolution":
        """It for images that are multiplied with these: with windows as a whole where those are not finite.

        Then the products with zeros of margins, which taps skip, are NaN. A card has no use for parts.
        """
        if self.taps == 1 or all(isinstance(one, np.ndarray) and np.isfinite(one).all() for one in factors):
            return self
        return self._replace(is_whole=True)

    @property
    def tap_windows(self) -> Windows:
        """The windows of one part, over images without the margins that the others skip."""
        windows = self.windows
        if self.taps == 1:
            return windows
        kernel, before, after = (1, *windows.kernel[1:]), (0, *windows.before[1:]), (0, *windows.after[1:])
        return windows._replace(kernel=kernel, before=before, after=after)

    @property
    def height(self) -> int:
        """How many elements a column has: those under a tap, in all channels of a group."""
        return self.channels // self.groups * prod(self.tap_windows.kernel)

    @property
    def is_pointwise(self) -> bool:
        """Whether taps are the elements one by one, so that the images themselves are the columns."""
        return {*self.tap_windows.kernel, *self.tap_windows.stride} == {1}

    def blocks(self, dtype: np.dtype[Any]) -> Iterator[Block]:
        """Parts of the places, the largest first, whose columns and products take at most MOST_BYTES each."""
        places, rows = self.tap_windows.places, max(self.groups * self.height, self.outputs if self.taps > 1 else 1)
        each = max(1, rows * self.batch * dtype.itemsize)
        behind = [prod(places[at + 1 :]) for at in range(len(places))]
        cut = next((at for at, count in enumerate(behind) if each * count <= MOST_BYTES), len(places) - 1)
        step, whole = max(1, MOST_BYTES // (each * behind[cut])), [(0, count) for count in places[cut + 1 :]]
        start = 0
        for before in np.ndindex(places[:cut]):
            for first in range(0, places[cut], step):
                last = min(first + step, places[cut])
                columns = slice(start, start + (last - first) * behind[cut] * self.batch)
                yield Block((*[(at, at + 1) for at in before], (first, last), *whole), columns)
                start = columns.stop

    def each_laid_out(self, like: Array, dtype: np.dtype[Any]) -> Iterator[tuple[Block, Array]]:
        """Each block, and memory for its columns, (c, positions in a tap, places..., n), which the next one shares.

        `like`: an array that lies where they shall.
        """
        for block in self.blocks(dtype):
            places = [last - first for first, last in block.places]
            shape = (self.channels, prod(self.tap_windows.kernel), *places, self.batch)
            yield block, scratch("columns", like, dtype, self.groups * self.height * len(block)).reshape(shape)

    def as_columns(self, array: Array) -> Array:
        """(c, positions in a tap, ..., n) as X: (groups, height, places x batch)."""
        return array.reshape(self.groups, self.height, prod(array.shape[2:]))

    def each_columns(self, images: Array) -> Iterator[tuple[slice, Array]]:
        """Where each block's columns stand, and they, which the next overwrites. images: (c, ..., n) `in_phases`."""
        if self.is_pointwise:
            x = self.as_columns(images)
            yield slice(0, x.shape[-1]), x
            return
        for block, laid_out in self.each_laid_out(images, images.dtype):
            for at, met in enumerate(self.tap_windows.met(block.places)):
                laid_out[:, at] = images[:, *met]
            yield block.columns, self.as_columns(laid_out)

    def met_by_taps(self, columns: slice) -> Iterator[tuple[int, slice, slice]]:
        """For each tap, the columns of maps that these are for, and which of these they are."""
        windows, row = self.windows, prod(self.windows.places[1:]) * self.batch
        for tap in range(self.taps):
            shift = row * (windows.before[0] - tap * windows.dilation[0]) if self.taps > 1 else 0
            first, last = max(columns.start, -shift), min(columns.stop, row * windows.places[0] - shift)
            if first < last:
                yield tap, slice(first + shift, last + shift), slice(first - columns.start, last - columns.start)

    def by_group(self, maps: Array) -> Array:
        """Maps (m, ..., n) as Y: (groups, m / groups, windows x batch)."""
        return maps.reshape(self.groups, self.outputs // self.groups, prod(maps.shape[1:]))

    def forward(self, filters: Array, images: Array) -> Array:
        """Y = F·X. filters: `filter_matrices`, images: (c, ..., n) `in_phases` -> (m, ..., n)."""
        dtype = np.result_type(filters.dtype, images.dtype)
        empty = np.empty_like if self.taps == 1 else np.zeros_like
        maps = empty(images, dtype, shape=(self.outputs, *self.windows.places, self.batch), order="C")
        by_group = self.by_group(maps)
        for columns, x in self.each_columns(images):
            for tap, there, here in self.met_by_taps(columns):
                self.add_product(np.matmul, filters[tap], x[..., here], by_group[..., there])
        return maps

    def add_product(self, times: Callable[..., Array], a: Array, b: Array, total: Array) -> None:
        """a·b into `total`; with several taps, added to it."""
        if self.taps == 1:
            times(a, b, out=total)
        else:
            total += times(a, b, out=scratch("product", total, total.dtype, total.size).reshape(total.shape))

    def filter_gradient(self, images: Array, maps: Array) -> Array:
        """dF = dY·Xᵀ. images: (c, ..., n) `in_phases`, maps: (m, ..., n) -> `filter_matrices`."""
        by_group = self.by_group(maps)
        is_turned = by_group.shape[-1] >= MANY_COLUMNS
        sizes = self.outputs // self.groups, self.height
        shape = (self.taps, self.groups, *(reversed(sizes) if is_turned else sizes))
        totals = np.zeros_like(maps, np.result_type(images.dtype, maps.dtype), shape=shape, order="C")
        for columns, x in self.each_columns(images):
            for tap, there, here in self.met_by_taps(columns):
                y, met = by_group[..., there], x[..., here]
                a, b = (met, y) if is_turned else (y, met)
                totals[tap] += np.matmul(a, np.swapaxes(b, 1, 2))
        return np.swapaxes(totals, 2, 3) if is_turned else totals

    def image_gradient(self, filters: Array, maps: Array) -> Array:
        """dX = Fᵀ·dY, each element added where it was taken. maps: (m, ..., n) -> (c, ..., n), without margins."""
        windows, dtype = self.tap_windows, np.result_type(filters.dtype, maps.dtype)
        shape = (self.channels, *windows.stride, *windows.steps, self.batch)
        images = np.zeros_like(maps, dtype, shape=shape, order="C")
        by_group, turned = self.by_group(maps), np.swapaxes(filters, 2, 3)
        # Of one filter in each group a product is one of numbers, with which BLAS takes its time.
        times = np.multiply if by_group.shape[1] == 1 else np.matmul

        def add_up(columns: slice, x: Array) -> None:
            for tap, there, here in self.met_by_taps(columns):
                self.add_product(times, turned[tap], by_group[..., there], x[..., here])

        if self.is_pointwise:
            x = self.as_columns(images)
            add_up(slice(0, x.shape[-1]), x)
            return out_of_phases(images, windows)
        for block, laid_out in self.each_laid_out(maps, dtype):
            if self.taps > 1:
                laid_out[...] = 0
            add_up(block.columns, self.as_columns(laid_out))
            for at, met in enumerate(windows.met(block.places)):
                images[:, *met] += laid_out[:, at]
        return out_of_phases(images, windows)
