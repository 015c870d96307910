# SPDX-License-Identifier: Apache-2.0
"""Arrays of other packages before a tensor lies over their memory: what must be refused, and what must be held. None of these packages is
imported here: the arrays bring them."""

from __future__ import annotations

import sys
from typing import Any


def hold_torch(tensor: Any) -> None:
    """Refuses views whose memory does not hold their values, and keeps the storage at its place. @errors BufferError"""
    reason = None
    if tensor.requires_grad:
        reason = "it requires gradients: pass tensor.detach()"
    elif tensor.is_neg():
        reason = "it is a negated view, whose memory lacks the sign: pass tensor.resolve_neg()"
    elif tensor.is_conj():
        reason = "it is a conjugated view: pass tensor.resolve_conj()"
    elif str(tensor.layout) != "torch.strided":
        reason = f"its layout is {tensor.layout}: pass tensor.to_dense()"
    if reason:
        raise BufferError(f"this torch.Tensor cannot be shared, because {reason}")
    if tensor.device.type == "cpu" and tensor.numel():
        storage = tensor.untyped_storage()
        if storage.resizable():
            # resize_() would free the memory under a DLPack tensor. After numpy(), torch refuses that, whatever the element type is.
            torch = sys.modules["torch"]
            torch.empty(0, dtype=torch.uint8).set_(storage).numpy()


def jax_view(array: Any) -> Any:
    """A read-only NumPy array over a JAX array on the host, or the array itself. JAX's DLPack cannot say that it must not be written."""
    if {each.platform for each in array.devices()} != {"cpu"} or len(array.devices()) != 1:
        return array
    import numpy

    return numpy.asarray(array)
