// SPDX-License-Identifier: Apache-2.0
// Whether weights are mapped, as the kernel lists it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::testing {
namespace mapped_models_test {

TEST(CoreProperties, FilesAreMappedOrReadAsToldToTheCoreOrInTheCall) {
  const TemporaryFolder folder;
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4096});
  Tensor ones(element::f32, Shape{1, 4096});
  std::fill_n(ones.data<float>(), 4096, 1.f);
  auto sum = std::make_shared<op::v1::Add>(x->output(0), std::make_shared<op::v0::Constant>(ones)->output(0));
  const auto xml = folder.path() / "m.xml", bin = folder.path() / "m.bin";
  serialize(Model(OutputVector{sum->output(0)}, ParameterVector{x}, "m"), xml);
  const auto is_mapped = [&] {
    std::ifstream maps("/proc/self/maps");
    const std::string all{std::istreambuf_iterator<char>(maps), {}};
    return all.find(bin.string()) != std::string::npos;
  };
  const AnyMap off{enable_mmap(false)}, on{enable_mmap(true)};
  for (const bool by_default : {true, false}) {
    Core core;
    core.set_property(enable_mmap(by_default));
    for (const auto& [properties, mapped] :
         {std::pair{AnyMap{}, by_default}, std::pair{off, false}, std::pair{on, true}}) {
      auto compiled = core.compile_model(xml, "REFERENCE", properties);
      EXPECT_EQ(is_mapped(), mapped) << by_default;
      auto read = core.read_model(xml, {}, properties);
      compiled = {};
      EXPECT_EQ(is_mapped(), mapped) << by_default;
    }
    EXPECT_FALSE(is_mapped());
  }
}

}  // namespace mapped_models_test
}  // namespace tenon::testing
