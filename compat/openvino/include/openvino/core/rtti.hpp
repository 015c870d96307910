// SPDX-License-Identifier: Apache-2.0
// Names that a class declares for is_type and as_type.
#pragma once

#include "openvino/core/type.hpp"

#define OV_TENON_RTTI(qualifier, specifier, ...)                \
  static const ::ov::DiscreteTypeInfo& get_type_info_static() { \
    static const ::ov::DiscreteTypeInfo info{__VA_ARGS__};      \
    return info;                                                \
  }                                                             \
  qualifier const ::ov::DiscreteTypeInfo& get_type_info() const specifier { return get_type_info_static(); }
#define OV_TENON_RTTI_1(name) OV_TENON_RTTI(, override, name, "util")
#define OV_TENON_RTTI_2(name, version) OV_TENON_RTTI(, override, name, version)
#define OV_TENON_RTTI_3(name, version, base) OV_TENON_RTTI(, override, name, version, &base::get_type_info_static())
#define OV_TENON_RTTI_OF(a, b, c, chosen, ...) chosen
/// OPENVINO_RTTI(name[, version[, base class]]) in a derived class; OPENVINO_RTTI_BASE(name) in the first one.
#define OPENVINO_RTTI(...) \
  OV_TENON_RTTI_OF(__VA_ARGS__, OV_TENON_RTTI_3, OV_TENON_RTTI_2, OV_TENON_RTTI_1, )(__VA_ARGS__)
#define OPENVINO_RTTI_BASE(name) OV_TENON_RTTI(virtual, , name, "util")
