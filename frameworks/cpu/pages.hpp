// SPDX-License-Identifier: Apache-2.0
// The size of the system's pages.
#pragma once

#include <tenon/core/page_bytes.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

using v1::page_bytes;

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
