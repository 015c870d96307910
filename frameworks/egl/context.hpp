// SPDX-License-Identifier: Apache-2.0
// A context of OpenGL ES as a Tenon context, and how it is made.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/egl/texture.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {

/// Textures of one share group.
class EglContext final : public ContextImpl {
 public:
  explicit EglContext(Ref<detail::Native> native);
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kTextureMemory; }
  std::span<const Edge* const> edges() const override;
  DeviceIdentity device() const override;
  detail::Native& native() const { return *native_; }
  const Ref<detail::Native>& native_ref() const { return native_; }

  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// Textures of bytes, in rows of 4096 px, for tensors of any shape. See allocate() for pictures.
  /// @errors kUnimplemented where offer() refuses; kResourceExhausted: more than the largest texture holds.
  Ref<Memory> allocate(const Requirements& wanted) override;
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

  /// Why pictures of these elements cannot be textures here; nothing when they can.
  std::optional<Refusal> refusal(ElementType type, const Shape& shape) const;
  Ref<Memory> make(const detail::Format& format, std::size_t width, std::size_t height);

 private:
  Ref<detail::Native> native_;
  std::string name_;
};

/// A display without a window system, and a context of its own. @errors kUnavailable: no library, no driver; those of
/// native calls. @thread any. @cost starts a thread, on which the context is current.
Context make_context();

/// Textures that the user's context has, too: Tenon makes a context that shares with it, on a thread of its own. Both handles live as
/// long as the context and its memory. @errors kInvalidArgument: null; kUnavailable; those of native calls.
Context wrap(EGLDisplay display, EGLContext context);

/// @name What is behind a context. @errors kInvalidArgument: a context of another framework.
EGLDisplay display(const Context& context);
/// Tenon's own: make contexts that share with it, to use its textures. It is current elsewhere.
EGLContext share_group(const Context& context);
const Device& device(const Context& context);

/// A new texture for a picture [h, w] or [h, w, c], c of 1, 2 or 4.
/// @errors kUnimplemented: a format that the renderer cannot read back, named; kInvalidArgument: no picture.
Tensor allocate(const Context& context, ElementType type, const Shape& shape);
/// One texture per plane. @errors kUnimplemented, naming the plane and the format.
Frame allocate_frame(const Context& context, const FrameInfo& info);

/// The user's 2-D texture, of the share group, as a tensor [h, w] or [h, w, c]; the user keeps it alive.
/// @errors kInvalidArgument: no texture of the group; kUnimplemented: a format without an element type.
Tensor wrap(const Context& context, GLuint texture);
/// As wrap(); `release` is called once, when nothing of Tenon uses the texture any more, on any thread, or when this fails. It must
/// not throw.
Tensor adopt(const Context& context, GLuint texture, std::function<void()> release);

namespace detail {

/// @errors kInvalidArgument, which names `function`: a context of another framework.
EglContext& egl_context(const Context& context, const char* function);

}  // namespace detail
}  // namespace egl
}  // namespace v1
}  // namespace tenon
