// SPDX-License-Identifier: Apache-2.0
// Tensors in a device's memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "openvino/core/any.hpp"
#include "openvino/runtime/tensor.hpp"

namespace ov {

/// A tensor of a RemoteContext. The host does not reach its data(): a compile error here, an Exception through Tensor&.
class OPENVINO_RUNTIME_API RemoteTensor : public Tensor {
 public:
  RemoteTensor() = default;
  RemoteTensor(const RemoteTensor& other, const Coordinate& begin, const Coordinate& end);
  explicit RemoteTensor(std::shared_ptr<ITensor> impl) : Tensor(std::move(impl)) {}
  /// Checks that the tensor has these parameters, with one of the values listed if there are any. @errors Exception
  static void type_check(const Tensor& tensor, const std::map<std::string, std::vector<std::string>>& type_info = {});
  void* data(const element::Type) = delete;
  template <typename T>
  T* data() = delete;
  void copy_to(Tensor& dst) const;
  void copy_from(const Tensor& src);
  AnyMap get_params() const;
  std::string get_device_name() const;
};

}  // namespace ov
