"""References to named tuples (references.py), as numba knows them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import typeof, types
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    overload,
    register_model,
    typeof_impl,
)

from merganser.framework.native.numba_inside import AttributeTemplate, cgutils, impl_ret_borrowed
from merganser.framework.native.references import Referenced, by_reference

_POINTER = ir.IntType(8).as_pointer()


class _ReferenceType(types.Type):
    """The type of the address of a named tuple, which has the attributes of the tuple."""

    def __init__(self, values: Any) -> None:
        self.values = values
        super().__init__(name=f"Reference({values})")


@typeof_impl.register(Referenced)
def _type_of_example(example: Referenced, _context: Any) -> _ReferenceType:
    return _ReferenceType(typeof(example.values))


@register_model(_ReferenceType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _POINTER)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = _ReferenceType

    # Numba's own annotation says that this returns NotImplemented, as the method of its base class does.
    def generic_resolve(self, value: Any, attr: str) -> Any:  # type: ignore[override]
        fields = value.values.fields
        return value.values.types[fields.index(attr)] if attr in fields else None


@lower_getattr_generic(_ReferenceType)
def _load_attribute(context: Any, builder: Any, reference: _ReferenceType, address: Any, name: str) -> Any:
    place = reference.values.fields.index(name)
    values = builder.bitcast(address, context.get_value_type(reference.values).as_pointer())
    array = builder.load(cgutils.gep_inbounds(builder, values, 0, place))
    return impl_ret_borrowed(context, builder, reference.values.types[place], array)


def _describe(_typingctx: Any, values: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(cgutils.alloca_once_value(builder, arguments[0]), _POINTER)

    return _ReferenceType(values)(values), generate


_address: Any = intrinsic(_describe)


@overload(by_reference, inline="always")  # so that the address is one in the frame of the kernel
def _compiled(values: Any) -> Any:
    def implementation(values: Any) -> Any:
        return _address(values)

    return implementation
