// SPDX-License-Identifier: Apache-2.0
// Converters of a program's own for a format's operations. They compile; adding one is refused, see openvino/core/op_extension.hpp.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "openvino/core/extension.hpp"
#include "openvino/frontend/node_context.hpp"

namespace ov {
namespace frontend {

class FRONTEND_API ConversionExtensionBase : public Extension {
 public:
  OPENVINO_RTTI("ConversionExtensionBase", "0", Extension)
  using Ptr = std::shared_ptr<ConversionExtensionBase>;
  explicit ConversionExtensionBase(const std::string& op_type) : op_type_(op_type) {}
  const std::string& get_op_type() const { return op_type_; }
  ~ConversionExtensionBase() override;

 private:
  std::string op_type_;
};
class FRONTEND_API ConversionExtension : public ConversionExtensionBase {
 public:
  OPENVINO_RTTI("ConversionExtension", "", ConversionExtensionBase)
  using Ptr = std::shared_ptr<ConversionExtension>;
  ConversionExtension(const std::string& op_type, const CreatorFunction& converter)
      : ConversionExtensionBase(op_type), converter_(converter) {}
  ConversionExtension(const std::string& op_type, const CreatorFunctionNamed& converter)
      : ConversionExtensionBase(op_type), named_(converter) {}
  ConversionExtension(const std::string& op_type, const CreatorFunctionNamedAndIndexed& converter)
      : ConversionExtensionBase(op_type), indexed_(converter) {}
  const CreatorFunction& get_converter() const { return converter_; }
  const CreatorFunctionNamed& get_converter_named() const { return named_; }
  const CreatorFunctionNamedAndIndexed& get_converter_named_and_indexed() const { return indexed_; }
  ~ConversionExtension() override;

 private:
  CreatorFunction converter_;
  CreatorFunctionNamed named_;
  CreatorFunctionNamedAndIndexed indexed_;
};

}  // namespace frontend
}  // namespace ov
