// SPDX-License-Identifier: Apache-2.0
// The forms of an IR in memory: one buffer with XML and weights, or XML with pointers to weights.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <tenon/graph/model.hpp>

#include <tenon/store/content_hash.hpp>

namespace tenon::npu::compiler {

/// Views of the parts in the client's buffer; owns no bytes.
struct InMemoryIr {
  std::uint16_t compiler_major = 0, compiler_minor = 0;  ///< The version that the client wrote it for.
  std::string_view xml;
  std::span<const std::uint8_t> weights;
  bool weights_by_pointer = false;  ///< Constants hold addresses in this process, valid during the call.
};

/// Finds the parts in either form; checks every length.
/// @errors kInvalidArgument: neither form, or truncated (says which length is wrong).
InMemoryIr parse_in_memory_ir(std::span<const std::uint8_t> bytes);

/// Reads the model. Its constants are views of the client's memory: it must not outlive the client's call.
/// @errors as read_ir; kInvalidArgument: a constant's address is not readable memory of its size.
std::shared_ptr<Model> read_in_memory_ir(const InMemoryIr& ir);

/// Hash of the whole model: text, weights, and the memory behind pointers. The two forms of one model have different
/// hashes.
store::ContentHash hash_of(const InMemoryIr& ir);

}  // namespace tenon::npu::compiler
