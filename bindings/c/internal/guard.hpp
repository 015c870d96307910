// SPDX-License-Identifier: Apache-2.0
// The shapes that all functions of the C interface have: a body in which exceptions become a status and this thread's
// message, checked pointers, cleared out-parameters, structs that grow.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include <tenon/core/error.hpp>

#include <tenon/bindings/c/internal/handles.hpp>

namespace tenon::c {

/// Keeps the message of the exception that is being handled for this thread. @return its status
tenon_status_t status_of_current_exception() noexcept;
/// malloc'ed copy, for tenon_string_free.
char* copy_of(const std::string& text);
[[noreturn]] void refuse(const std::string& message);
[[noreturn]] void refuse_past_end(const char* what, std::size_t index, std::size_t count);

/// A pointer that must not be NULL, of anything that is no handle.
template <typename T>
T* required(T* pointer, const char* name) {
  if (!pointer) refuse(std::string(name) + " is NULL");
  return pointer;
}
/// An array of `count` elements, which may be NULL when there are none.
template <typename T>
T* required_array(T* pointer, std::size_t count, const char* name) {
  return count ? required(pointer, name) : pointer;
}

template <typename T>
bool is_handle(const T* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignof(T) == 0 && pointer->tag == tag_of(T::kType);
}
/// A handle. @errors kInvalidArgument: NULL, freed, or of another type
template <typename T>
T& checked(T* handle, const char* name) {
  required(handle, name);
  if (!is_handle(handle)) refuse(std::string(name) + " is no " + T::kType + ": it was freed, or is another thing");
  return *handle;
}
template <typename T>
const T* optional_handle(const T* handle, const char* name) {
  return handle ? &checked(handle, name) : nullptr;
}

template <typename F>
tenon_status_t run(F&& body) noexcept {
  try {
    body();
    return TENON_OK;
  } catch (...) {
    return status_of_current_exception();
  }
}

/// Gives a plain value; 0 on failure, so that callers who forget the status see no stale one.
template <typename T, typename F>
tenon_status_t give(T* out, F&& body) noexcept {
  return run([&] {
    *required(out, "out") = T{};
    *out = static_cast<T>(body());
  });
}
/// Gives a new handle over what the body returns; NULL on failure.
template <typename H, typename F>
tenon_status_t make(H** out, F&& body) noexcept {
  return run([&] {
    *required(out, "out") = nullptr;
    *out = new H(body());
  });
}
/// Gives a text; NULL on failure.
template <typename F>
tenon_status_t give_text(char** out, F&& body) noexcept {
  return run([&] {
    *required(out, "out") = nullptr;
    *out = copy_of(body());
  });
}
/// A value of a handle, for functions without status: `fallback` for what is no handle.
template <typename T, typename V, typename F>
V ask(const T* handle, V fallback, F&& body) noexcept {
  V value = fallback;
  const auto status = run([&] { value = static_cast<V>(body(checked(handle, "the handle"))); });
  return status == TENON_OK ? value : fallback;
}
/// The body of every _free: what is no handle is left alone, and the thread's message says so.
template <typename T>
void free_handle(T* handle) noexcept {
  if (handle) run([&] { delete &checked(handle, "the handle"); });
}

template <typename T>
std::size_t checked_struct_size(const T* given, const char* name) {
  const std::size_t size = required(given, name)->struct_size;
  if (size < sizeof(std::size_t) || size > 4096) {
    refuse(std::string(name) + "->struct_size is " + std::to_string(size) + "; set it to sizeof(the struct), here " +
           std::to_string(sizeof(T)));
  }
  return size;
}
/// The caller's struct as ours: fields that its header lacks are 0, fields that ours lacks must be 0.
template <typename T>
T read_struct(const T* from, const char* name) {
  const std::size_t size = checked_struct_size(from, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0)
      refuse(std::string(name) + " sets a field that this version (" + tenon_version() + ") does not know");
  }
  T value{};
  std::memcpy(&value, from, std::min(size, sizeof(T)));
  return value;
}
/// Writes as much of `value` as the caller's struct has room for; a field that only a newer header has becomes 0.
template <typename T>
void write_struct(T* to, T value, const char* name) {
  const std::size_t size = checked_struct_size(to, name);
  value.struct_size = size;
  std::memcpy(to, &value, std::min(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(reinterpret_cast<unsigned char*>(to) + sizeof(T), 0, size - sizeof(T));
}

// ---- Values that several groups read and write ----

ElementType type_of(tenon_element_type_t type);
Shape shape_of(std::size_t rank, const std::size_t* extents, const char* name = "shape");
FrameInfo frame_info_of(const tenon_frame_info_t* from, const char* name);
/// Typed settings as devices take them: truth values and numbers as text, which every property understands.
AnyMap runtime_properties(const AnyMap& typed);
/// Empty for NULL.
AnyMap runtime_properties(const tenon_properties_t* properties, const char* name);
AnyMap text_properties(const tenon_property_t* properties, std::size_t count);
ZeroCopy policy_of(tenon_zero_copy_t policy);
/// "KEY:VALUE;" or "KEY VALUE ", pointers in hexadecimal.
std::string params_text(const AnyMap& params, const char* between, const char* after);
void write_port(const Output<const Node>& port, const std::string& name, tenon_port_info_t* info);
void write_totals(const Ledger& ledger, tenon_ledger_totals_t* totals);

}  // namespace tenon::c
