// SPDX-License-Identifier: Apache-2.0
// The forms in which clients hand over an IR: one buffer with its XML and its weights, or with pointers to them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <tenon/graph/model.hpp>

#include <tenon/store/content_hash.hpp>

namespace tenon::npu::compiler {

/// Where things lie in the client's buffer. Holds no bytes of its own.
struct InMemoryIr {
  std::uint16_t compiler_major = 0, compiler_minor = 0;  ///< What the client wrote it for.
  std::string_view xml;
  std::span<const std::uint8_t> weights;
  bool weights_by_pointer = false;  ///< Constants name addresses in this process, valid during the call.
};

/// Finds the parts of either form; every length is checked.
/// @errors kInvalidArgument: neither form, or truncated: says which length is wrong.
InMemoryIr parse_in_memory_ir(std::span<const std::uint8_t> bytes);

/// The model. Constants are views of the client's memory, so it must not outlive the client's call.
/// @errors as read_ir; kInvalidArgument: a constant's address is not readable memory of its size.
std::shared_ptr<Model> read_in_memory_ir(const InMemoryIr& ir);

/// Of all that the model is: text, weights, and what pointers point to. Two forms of one model differ.
store::ContentHash hash_of(const InMemoryIr& ir);

}  // namespace tenon::npu::compiler
