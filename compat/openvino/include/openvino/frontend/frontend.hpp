// SPDX-License-Identifier: Apache-2.0
// The reader of one format of models.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "openvino/core/any.hpp"
#include "openvino/core/extension.hpp"
#include "openvino/core/model.hpp"
#include "openvino/core/op_extension.hpp"
#include "openvino/frontend/exception.hpp"
#include "openvino/frontend/input_model.hpp"

namespace ov {
namespace frontend {

class FRONTEND_API FrontEnd {
 public:
  using Ptr = std::shared_ptr<FrontEnd>;
  FrontEnd() = default;
  FrontEnd(const FrontEnd&) = delete;
  FrontEnd& operator=(const FrontEnd&) = delete;
  virtual ~FrontEnd();
  /// Whether load() would take it: the path of a file, or a stream.
  template <typename... T>
  bool supported(const T&... variants) const {
    return supported_impl(list(variants...));
  }
  bool supported(const AnyVector& variants) const { return supported_impl(variants); }
  /// A file, and for IR the file of its weights, or streams of both. @errors Exception: it cannot be read.
  template <typename... T>
  InputModel::Ptr load(const T&... variants) const {
    return load_impl(list(variants...));
  }
  InputModel::Ptr load(const AnyVector& variants) const { return load_impl(variants); }
  virtual std::shared_ptr<Model> convert(const InputModel::Ptr& model) const;
  /// Nothing is left to convert in what this front end made.
  virtual void convert(const std::shared_ptr<Model>& partially_converted) const;
  virtual std::shared_ptr<Model> convert_partially(const InputModel::Ptr& model) const;
  virtual std::shared_ptr<Model> decode(const InputModel::Ptr& model) const;
  virtual void normalize(const std::shared_ptr<Model>& model) const;
  virtual std::string get_name() const;
  /// @errors NotImplemented, always, as Core::add_extension.
  virtual void add_extension(const std::shared_ptr<Extension>& extension);
  void add_extension(const std::vector<std::shared_ptr<Extension>>& extensions);
  void add_extension(const std::filesystem::path& library_path);
  template <typename T, std::enable_if_t<std::is_base_of_v<Extension, T>, bool> = true>
  void add_extension(const T& extension) {
    add_extension(std::shared_ptr<Extension>(std::make_shared<T>(extension)));
  }

 protected:
  virtual bool supported_impl(const AnyVector& variants) const;
  virtual InputModel::Ptr load_impl(const AnyVector& variants) const;

 private:
  template <typename... T>
  static AnyVector list(const T&... variants) {
    return {Any(variants)...};
  }
};

}  // namespace frontend
}  // namespace ov
