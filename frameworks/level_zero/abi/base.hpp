// SPDX-License-Identifier: Apache-2.0
// The basis of abi/: versions, links of a chain, and the width of the machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include <level_zero/ze_api.h>

namespace tenon {
inline namespace v1 {
/// What Level Zero has beyond the headers of loader 1.8.12 (Debian 12), declared under our own names so that it
/// compiles beside the headers of any loader. Sizes and offsets are asserted against the published ABI. To convert
/// pointers between these structs and the published ones, use reinterpret_cast.
/// Members that clients write have an integer type where unknown values may arrive.
/// @source Level Zero specification 1.17; intel/level-zero-npu-extensions, graph extension 1.18
namespace level_zero::abi {

static_assert(sizeof(void*) == 8 && sizeof(std::size_t) == 8, "the offsets below are those of 64-bit machines");
static_assert(sizeof(ze_structure_type_t) == 4 && sizeof(ze_bool_t) == 1);

/// Versions of the API and its extensions: major in the upper half, minor in the lower.
constexpr std::uint32_t version(std::uint32_t major, std::uint32_t minor) { return major << 16 | (minor & 0xffff); }
constexpr std::uint32_t major_of(std::uint32_t value) { return value >> 16; }
constexpr std::uint32_t minor_of(std::uint32_t value) { return value & 0xffff; }

static_assert(version(1, 4) == 0x10004);

/// The beginning of every struct of a chain: its type, and the next struct or null.
struct ChainLink {
  std::uint32_t stype;
  const void* next;
};
static_assert(sizeof(ChainLink) == 16 && offsetof(ChainLink, next) == 8);

/// An enumerator that the packaged header may lack, in the type that calls expect.
constexpr ze_structure_type_t structure_type(std::uint32_t value) { return static_cast<ze_structure_type_t>(value); }

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
