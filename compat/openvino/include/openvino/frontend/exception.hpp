// SPDX-License-Identifier: Apache-2.0
// Exceptions of front ends.
#pragma once

#include <string>

#include "openvino/core/except.hpp"
#include "openvino/frontend/visibility.hpp"

namespace ov {
namespace frontend {

/// Anything that has no class of its own below.
class FRONTEND_API GeneralFailure : public AssertFailure {
 public:
  [[noreturn]] static void create(const char* file, int line, const char* check_string, const std::string& context_info,
                                  const std::string& explanation);
  ~GeneralFailure() override;

 protected:
  explicit GeneralFailure(const std::string& what_arg) : AssertFailure(what_arg) {}
};
/// A front end does not exist, or cannot begin.
class FRONTEND_API InitializationFailure : public AssertFailure {
 public:
  [[noreturn]] static void create(const char* file, int line, const char* check_string, const std::string& context_info,
                                  const std::string& explanation);
  ~InitializationFailure() override;

 protected:
  explicit InitializationFailure(const std::string& what_arg) : AssertFailure(what_arg) {}
};
/// An operation of the file has what it cannot have.
class FRONTEND_API OpValidationFailure : public AssertFailure {
 public:
  [[noreturn]] static void create(const char* file, int line, const char* check_string, const std::string& context_info,
                                  const std::string& explanation);
  ~OpValidationFailure() override;

 protected:
  explicit OpValidationFailure(const std::string& what_arg) : AssertFailure(what_arg) {}
};
/// An operation of the file has no form here.
class FRONTEND_API OpConversionFailure : public AssertFailure {
 public:
  [[noreturn]] static void create(const char* file, int line, const char* check_string, const std::string& context_info,
                                  const std::string& explanation);
  ~OpConversionFailure() override;

 protected:
  explicit OpConversionFailure(const std::string& what_arg) : AssertFailure(what_arg) {}
};
/// The front end, or its model, has no such function.
class FRONTEND_API NotImplementedFailure : public AssertFailure {
 public:
  [[noreturn]] static void create(const char* file, int line, const char* check_string, const std::string& context_info,
                                  const std::string& explanation);
  ~NotImplementedFailure() override;

 protected:
  explicit NotImplementedFailure(const std::string& what_arg) : AssertFailure(what_arg) {}
};

}  // namespace frontend
}  // namespace ov

#define OV_TENON_FRONTEND_CHECK(Failure, condition, ...)                               \
  do {                                                                                 \
    if (!static_cast<bool>(condition))                                                 \
      ::ov::frontend::Failure::create(__FILE__, __LINE__, #condition, ::std::string(), \
                                      ::ov::detail::joined(__VA_ARGS__));              \
  } while (0)
#define FRONT_END_GENERAL_CHECK(...) OV_TENON_FRONTEND_CHECK(GeneralFailure, __VA_ARGS__, "")
#define FRONT_END_INITIALIZATION_CHECK(...) OV_TENON_FRONTEND_CHECK(InitializationFailure, __VA_ARGS__, "")
#define FRONT_END_OP_CONVERSION_CHECK(...) OV_TENON_FRONTEND_CHECK(OpConversionFailure, __VA_ARGS__, "")
#define FRONT_END_CHECK_IMPLEMENTED(condition, name) \
  OV_TENON_FRONTEND_CHECK(NotImplementedFailure, condition, #name " is not implemented for this FrontEnd class")
#define FRONT_END_NOT_IMPLEMENTED(name) FRONT_END_CHECK_IMPLEMENTED(false, name)
#define FRONT_END_THROW(text) FRONT_END_GENERAL_CHECK(false, text)
