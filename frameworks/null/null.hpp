// SPDX-License-Identifier: Apache-2.0
// The smallest complete framework: the template for a new one.
//
// How to write a framework. Copy the folder, rename it, and replace native.hpp and native.cpp by your library's header.
// null.hpp is the contract: what users name, and its documentation. null.cpp has the code, which is compiled once, into
// the small shared library tenon::null; what only this framework calls stands there alone. A definition in a source begins
// with TENON_INLINE, and private helpers go to namespace detail, because header_only.hpp includes the sources for programs
// without a library; it lists each of them. The numbers mark the steps in both files.
//
//  1. The kind. One constexpr name. There is no list of kinds to extend and nothing to register.
//  2. The native calls. One function, check(), turns a code into tenon::Error with the call's name, so that every
//     failure says which foreign function returned what.
//  3. Memory. One class over one native allocation. Its constructor receives what it owns and cannot fail half-way;
//     its destructor first drops the views, then releases what it owns: "released once, on every path".
//  4. View. This framework's view of *another* framework's memory: here a block around host memory. It belongs to
//     that memory, dies with it and must hold no reference to it, or neither would ever be freed.
//  5. Context. Allocates, and lists the edges. read() and write() use the framework's own calls: alias tests need
//     them as an independent check of what the framework sees. The one context of the process is kept by
//     process_wide(), since each program and module that links the library has a copy of this code and its statics.
//  6. Edges, in the source only: the context hands them out. step() judges a description and touches nothing; map()
//     performs the hop. They must agree: write the conditions once. A sharing edge returns source.through(view); a
//     copying edge returns new memory, after waiting for the last write. An impossible request is a Refusal that names
//     the missing capability; a failure is an exception. The router books both, and refuses writes to read-only or
//     copied memory. core/host_edge.hpp has what edges share, and HostEdge, a complete edge to a library that takes
//     addresses.
//  7. The typed accessor, wrap() and adopt(): how users convert to and from native handles.
//  8. contexts(): the framework's contexts on this machine, for the tool's matrix and devices; the build looks for it in
//     contexts.hpp.
//  9. conformance.cpp: tells the conformance suite how to make your memory, count your objects and make your calls
//     fail. The suite then tests your edges: content, aliasing, lifetimes, failures, threads, ledger. null_test.cpp
//     tests only what is specific to the framework.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>  // IWYU pragma: export
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/null/native.hpp>

namespace tenon {
inline namespace v1 {
namespace null {

/// 1. The kind: `Tensor::kind()` of this framework's memory.
inline constexpr MemoryKind kBlockMemory{"null.block"};

using native::Block;

namespace detail {

/// 2. The only place where codes become exceptions.
void check(int status, const char* call, const std::string& what);

/// Owns one reference to a block, so that an exception between two native calls releases it.
class BlockReference {
 public:
  BlockReference() = default;
  explicit BlockReference(Block* block) noexcept : block_(block) {}
  BlockReference(BlockReference&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockReference& operator=(BlockReference&&) = delete;
  ~BlockReference() {
    if (block_) native::null_release(block_);
  }
  Block* get() const noexcept { return block_; }

 private:
  Block* block_ = nullptr;
};

}  // namespace detail

/// 3. A block as memory. Host-visible blocks are host-addressable directly, private ones only through edges.
class BlockMemory final : public Memory {
 public:
  /// Takes ownership of the reference. @errors those of null_map.
  static Ref<BlockMemory> over(Context context, detail::BlockReference block);
  ~BlockMemory() override;

  Block* block() const { return block_.get(); }

 private:
  BlockMemory(Context context, const Properties& properties, detail::BlockReference block);

  detail::BlockReference block_;
};

/// 4. A block over another framework's memory.
class BlockView final : public View {
 public:
  BlockView(Context context, Access access, void* host, detail::BlockReference block);
  Block* block() const { return block_.get(); }

 private:
  detail::BlockReference block_;
};

/// 5. The context. A real one holds its library's context handle and returns its device's identity.
class BlockContext final : public ContextImpl {
 public:
  std::string_view name() const override { return "null"; }
  MemoryKind kind() const override { return kBlockMemory; }
  std::span<const Edge* const> edges() const override;
  Requirements requirements() const override;
  /// What planning may expect of allocate(): it must refuse here what it would refuse there.
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// A private block, or a host-visible one if `wanted.host_access`. @errors kUnimplemented: descriptors; those of
  /// null_create.
  Ref<Memory> allocate(const Requirements& wanted) override;
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;
};

/// Makes a new context. Many libraries allow several; if memory may not pass between them, an edge refuses it.
Context make_context();
/// The context of the process, for users that need only one.
Context context();

/// 7. The native handle, valid as long as the tensor. The tensor begins at tensor.offset() in it.
/// @errors kInvalidArgument: a tensor of another framework.
Block* block(const Tensor& tensor);

/// Wraps the caller's block as a tensor. Takes its own reference, so the caller may release theirs at any time.
/// @errors kInvalidArgument: null; kOutOfRange: `info` needs more than the block has; those of null_retain.
Tensor wrap(const Context& context, Block* block, const TensorInfo& info);

/// Takes over the caller's reference; it is released once, also when this fails. @errors as wrap().
Tensor adopt(const Context& context, Block* block, const TensorInfo& info);

/// 8. The contexts on this machine. A real framework asks its library here, and returns none if there are none.
std::vector<Context> contexts();

}  // namespace null
}  // namespace v1
}  // namespace tenon
