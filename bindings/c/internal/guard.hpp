// SPDX-License-Identifier: Apache-2.0
// Shared by all functions of the C interface: converting exceptions to a status and this thread's message, checking
// pointers, clearing out-parameters, versioned structs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include <tenon/bindings/c/tenon.h>
#include <tenon/bindings/c/internal/handles.hpp>
#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::c {

/// Stores the current exception's message for this thread. @return its status
tenon_status_t status_of_current_exception() noexcept;
/// A malloc'ed copy, for tenon_string_free.
char* copy_of(const std::string& text);
[[noreturn]] void refuse(const std::string& message);
[[noreturn]] void refuse_past_end(const char* what, std::size_t index, std::size_t count);

/// Checks a pointer that must not be NULL and is not a handle.
template <typename T>
T* required(T* pointer, const char* name) {
  if (!pointer) refuse(std::string(name) + " is NULL");
  return pointer;
}
/// An array of `count` elements, which may be NULL if `count` is 0.
template <typename T>
T* required_array(T* pointer, std::size_t count, const char* name) {
  return count ? required(pointer, name) : pointer;
}

template <typename T>
bool is_handle(const T* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignof(T) == 0 && pointer->tag == tag_of(T::kType);
}
/// Checks a handle. @errors kInvalidArgument: NULL, freed, or of another type
template <typename T>
T& checked(T* handle, const char* name) {
  required(handle, name);
  if (!is_handle(handle)) refuse(std::string(name) + " is not a " + T::kType + ": it was freed, or has another type");
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

/// Writes a plain value; 0 on failure, so that callers which ignore the status see no stale value.
template <typename T, typename F>
tenon_status_t give(T* out, F&& body) noexcept {
  return run([&] {
    *required(out, "out") = T{};
    *out = static_cast<T>(body());
  });
}
/// Writes a new handle for the body's result; NULL on failure.
template <typename H, typename F>
tenon_status_t make(H** out, F&& body) noexcept {
  return run([&] {
    *required(out, "out") = nullptr;
    *out = new H(body());
  });
}
/// Writes a text; NULL on failure.
template <typename F>
tenon_status_t give_text(char** out, F&& body) noexcept {
  return run([&] {
    *required(out, "out") = nullptr;
    *out = copy_of(body());
  });
}
/// Reads a value from a handle, for functions without status; `fallback` for invalid handles.
template <typename T, typename V, typename F>
V ask(const T* handle, V fallback, F&& body) noexcept {
  V value = fallback;
  const auto status = run([&] { value = static_cast<V>(body(checked(handle, "the handle"))); });
  return status == TENON_OK ? value : fallback;
}
/// The body of every _free: ignores invalid handles, with a message for the thread.
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
/// Converts the caller's struct to ours: fields that its header lacks are 0, fields that ours lacks must be 0.
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
/// Writes as much of `value` as fits the caller's struct; fields from a newer header become 0.
template <typename T>
void write_struct(T* to, T value, const char* name) {
  const std::size_t size = checked_struct_size(to, name);
  value.struct_size = size;
  std::memcpy(to, &value, std::min(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(reinterpret_cast<unsigned char*>(to) + sizeof(T), 0, size - sizeof(T));
}

// ---- Values used by several groups ----

ElementType type_of(tenon_element_type_t type);
Shape shape_of(std::size_t rank, const std::size_t* extents, const char* name = "shape");
FrameInfo frame_info_of(const tenon_frame_info_t* from, const char* name);
/// Converts typed settings for devices: booleans and numbers become text, which every property accepts.
AnyMap runtime_properties(const AnyMap& typed);
/// Empty if NULL.
AnyMap runtime_properties(const tenon_properties_t* properties, const char* name);
AnyMap text_properties(const tenon_property_t* properties, std::size_t count);
ZeroCopy policy_of(tenon_zero_copy_t policy);
/// "KEY:VALUE;" for each, pointers in hexadecimal.
std::string params_text(const AnyMap& params);
void write_port(const Output<const Node>& port, const std::string& name, tenon_port_info_t* info);
void write_totals(const Ledger& ledger, tenon_ledger_totals_t* totals);

}  // namespace tenon::c
