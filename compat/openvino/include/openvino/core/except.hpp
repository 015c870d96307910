// SPDX-License-Identifier: Apache-2.0
// The exceptions that everything in ov throws, and the macros that throw them.
#pragma once

#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "openvino/core/core_visibility.hpp"

namespace ov {

template <typename... Parts>
std::ostream& write_all_to_stream(std::ostream& out, Parts&&... parts) {
  return (out << ... << parts);
}
template <typename T>
std::string stringify(T&& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// The base of all. what() names the place, and the text that Tenon gives: the object, what was expected and found, the remedy.
class OPENVINO_API Exception : public std::runtime_error {
 public:
  [[noreturn]] static void create(const char* file, int line, const std::string& explanation);
  explicit Exception(const std::string& what_arg) : std::runtime_error(what_arg) {}
  ~Exception() override;
  static const std::string default_msg;

 protected:
  static std::string make_what(const char* file, int line, const char* check_string, const std::string& context_info,
                               const std::string& explanation);
};

/// A check of arguments failed.
class OPENVINO_API AssertFailure : public Exception {
 public:
  [[noreturn]] static void create(const char* file, int line, const char* check_string, const std::string& context_info,
                                  const std::string& explanation);
  explicit AssertFailure(const std::string& what_arg) : Exception(what_arg) {}
  ~AssertFailure() override;
};

/// The device, or this version, does not have it.
class OPENVINO_API NotImplemented : public AssertFailure {
 public:
  [[noreturn]] static void create(const char* file, int line, const std::string& explanation);
  explicit NotImplemented(const std::string& what_arg) : AssertFailure(what_arg) {}
  ~NotImplemented() override;
  static const std::string default_msg;
};

namespace detail {
template <typename... Parts>
std::string joined(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}
}  // namespace detail
}  // namespace ov

#define OV_TENON_ASSERT(condition, ...)                                                                                \
  do {                                                                                                                 \
    if (!static_cast<bool>(condition))                                                                                 \
      ::ov::AssertFailure::create(__FILE__, __LINE__, #condition, ::std::string(), ::ov::detail::joined(__VA_ARGS__)); \
  } while (0)
#define OPENVINO_ASSERT(...) OV_TENON_ASSERT(__VA_ARGS__, "")
#ifdef NDEBUG
#define OPENVINO_DEBUG_ASSERT(...)
#else
#define OPENVINO_DEBUG_ASSERT(...) OPENVINO_ASSERT(__VA_ARGS__)
#endif
#define OPENVINO_THROW(...) ::ov::Exception::create(__FILE__, __LINE__, ::ov::detail::joined(__VA_ARGS__))
#define OPENVINO_THROW_NOT_IMPLEMENTED(...) \
  ::ov::NotImplemented::create(__FILE__, __LINE__, ::ov::detail::joined(__VA_ARGS__))
#define OPENVINO_NOT_IMPLEMENTED ::ov::NotImplemented::create(__FILE__, __LINE__, ::ov::Exception::default_msg)
