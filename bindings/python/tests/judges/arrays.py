# SPDX-License-Identifier: Apache-2.0
"""Tensors over NumPy's arrays: shared and copied, strides, types, regions, packed bits."""
import numpy as np

import openvino as ov
from openvino.helpers import pack_data, unpack_data

array = np.arange(6, dtype=np.float32).reshape(2, 3)
shared, copied = ov.Tensor(array, shared_memory=True), ov.Tensor(array)
array[0, 0] = 9
print(shared.data[0, 0], copied.data[0, 0], shared.shape, shared.get_size(), shared.get_byte_size(), list(shared.strides), shared.is_continuous())
shared.data[1, 2] = -1
print(array[1, 2], np.shares_memory(shared.data, array), ov.Tensor(array.T.copy()).shape, repr(shared), shared.get_element_type() == ov.Type.f32)
for kind in (np.float64, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8, np.bool_):
    tensor = ov.Tensor(np.ones((1, 2), kind))
    print(tensor.element_type.get_type_name(), tensor.data.dtype, tensor.element_type == ov.Type(kind), ov.Type(kind).size, ov.Type(kind).bitwidth)
print(ov.Type.f32.is_real(), ov.Type.u8.is_integral(), ov.Type.i4.bitwidth, ov.Type.bf16.size, ov.Type.f32.to_dtype(), ov.Type.f16.get_type_name(), ov.Type.i8.is_signed())
view = ov.Tensor(array, ov.Shape([3, 2]), ov.Type.f32)
print(view.shape, view.data.tolist(), ov.Tensor(array, ov.Shape([3, 2])).element_type == ov.Type.f32)
region = ov.Tensor(ov.Tensor(array), [0, 1], [2, 3])
print(region.shape, region.data.tolist(), list(region.get_strides()))
target = ov.Tensor(ov.Type.f32, [2, 3])
ov.Tensor(array).copy_to(target)
print(target.data.tolist())
target.copy_from(ov.Tensor(array * 2))
print(target.data.tolist(), ov.Tensor(ov.Type.u8, [0, 3]).size, ov.Tensor(ov.Type.f32, []).data.shape)
for kind, numbers in ((ov.Type.u4, [1, 2, 15, 4]), (ov.Type.i4, [-8, 7, -1, 3]), (ov.Type.u1, [1, 0, 1, 1, 0, 0, 0, 1])):
    packed = pack_data(np.array(numbers, np.int8), kind)
    print(packed.view(np.uint8).tolist(), unpack_data(packed, kind, [len(numbers)]).tolist())
