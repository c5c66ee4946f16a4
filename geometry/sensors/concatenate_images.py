"""ConcatenateImages: several color images as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merganser.framework import InputPort, InputPortIndex, LeafSystem, Value
from merganser.geometry.images import ImageRgba8U

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context


class ConcatenateImages(LeafSystem):
    """Puts color images side by side and below each other.

    Every row is as high as its highest image, and every column as wide as its widest. What is left between them is
    black and transparent. An input that is not connected is an image without pixels.

    Ports:
        input `color_image_r0_c0` and so on, one for each row and column: ImageRgba8U.
        output `color_image`: ImageRgba8U.

    Args:
        rows: number of images below each other.
        cols: number of images side by side.

    Raises:
        TypeError: one of them is no integer, or there would be more ports than integers of 32 bits can number.
        ValueError: one of them is not positive.
    """

    def __init__(self, *, rows: int = 1, cols: int = 1) -> None:
        super().__init__()
        if rows < 1 or cols < 1:
            raise ValueError(f"ConcatenateImages needs at least one row and one column; given {rows} and {cols}.")
        try:
            InputPortIndex(rows * cols - 1)
        except TypeError as error:
            raise TypeError(f"ConcatenateImages cannot have {rows} x {cols} input ports. {error}") from None
        self._shape = (rows, cols)
        for row in range(rows):
            for col in range(cols):
                self.DeclareAbstractInputPort(f"color_image_r{row}_c{col}", Value(ImageRgba8U()))
        self.DeclareAbstractOutputPort("color_image", lambda: Value(ImageRgba8U()), self._calc_image)

    def get_input_port(self, index: Any = None, *, row: int | None = None, col: int | None = None) -> InputPort:
        """Returns the port of an image, by its row and column, or by an index as of any system.

        Raises:
            IndexError: there is no such row or column.
        """
        if row is None and col is None:
            return super().get_input_port() if index is None else super().get_input_port(index)
        rows, cols = self._shape
        if index is not None or row is None or col is None or not (0 <= row < rows and 0 <= col < cols):
            raise IndexError(
                f"System '{self.GetSystemPathname()}' has images in rows 0 to {rows - 1} and columns 0 to {cols - 1}; "
                f"given row {row} and column {col}."
            )
        return super().get_input_port(row * cols + col)

    def _calc_image(self, context: Context, output: Any) -> None:
        rows, cols = self._shape
        ports = [[self.get_input_port(row=row, col=col) for col in range(cols)] for row in range(rows)]
        images = [[port.Eval(context) if port.HasValue(context) else ImageRgba8U() for port in row] for row in ports]
        heights = [max(image.height() for image in row) for row in images]
        widths = [max(row[col].width() for row in images) for col in range(cols)]
        whole = ImageRgba8U(sum(widths), sum(heights)) if sum(widths) else ImageRgba8U()
        for row in range(rows):
            for col in range(cols):
                image, y, x = images[row][col], sum(heights[:row]), sum(widths[:col])
                whole.mutable_data[y : y + image.height(), x : x + image.width()] = image.data
        output.set_value(whole)
