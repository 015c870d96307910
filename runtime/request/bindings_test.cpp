// SPDX-License-Identifier: Apache-2.0
// Tests each of the parts that bring tensors to the device alone: ways, batches, the device's requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/batch.hpp>
#include <tenon/runtime/request/bindings.hpp>
#include <tenon/runtime/request/device_requests.hpp>
#include <tenon/runtime/request/frames.hpp>
#include <tenon/runtime/request/tensor_way.hpp>
#include <tenon/runtime/testing/reference_device.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::testing {
namespace bindings_test {

using ::testing::HasSubstr;

/// A model on the reference device with the state that a request shares, but no request.
struct Parts {
  explicit Parts(const std::shared_ptr<Model>& graph, const AnyMap& properties = {},
                 ZeroCopy policy = ZeroCopy::kPrefer)
      : model(std::make_shared<ModelState>(std::make_shared<SharedState>(), std::make_shared<ReferenceDevice>(),
                                           ModelSource{graph, {}, {}, {}, {}}, properties, policy)),
        devices(*model) {}
  std::shared_ptr<ModelState> model;
  Ledger ledger;
  DeviceRequests devices;
};

/// Every second float of a row.
Tensor strided() {
  const Tensor whole(element::f32, Shape{1, 8});
  return Tensor(TensorInfo{element::f32, Shape{1, 4}, ByteStrides{32, 8}}, whole.memory());
}

TEST(TensorWay, IsInPlaceWhereTheDeviceTakesTheMemory) {
  Parts parts(relu_model());
  const Tensor tensor(element::f32, Shape{1, 4});
  const ChosenWay chosen = choose_way(*parts.model, parts.devices.active(), {true, 0}, tensor, parts.ledger);
  EXPECT_EQ(chosen.way, Way::kInPlace);
  EXPECT_EQ(chosen.tensor.memory(), tensor.memory());
}

TEST(TensorWay, IsPackedWhereTheDeviceRefusesUnlessThePolicyForbidsIt) {
  Parts parts(relu_model());
  EXPECT_EQ(choose_way(*parts.model, parts.devices.active(), {true, 0}, strided(), parts.ledger).way, Way::kPacked);
  EXPECT_EQ(choose_way(*parts.model, parts.devices.active(), {false, 0}, strided(), parts.ledger).way, Way::kPacked);
  Parts takes(relu_model(), {takes_strides(true)}, ZeroCopy::kRequire);
  EXPECT_EQ(choose_way(*takes.model, takes.devices.active(), {true, 0}, strided(), takes.ledger).way, Way::kInPlace);
  Parts require(relu_model(), {}, ZeroCopy::kRequire);
  const Error error = error_of([&] {
    choose_way(*require.model, require.devices.active(), {true, 0}, strided(), require.ledger);
  });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_THAT(error.what(), HasSubstr("input 'x' can't use"));
  EXPECT_THAT(error.what(), HasSubstr("'prefer'"));
}

TEST(TensorWay, BooleansAndBytesAreTheSameBytes) {
  const Tensor bytes(element::u8, Shape{3});
  const Tensor truths = as_type(bytes, element::boolean);
  EXPECT_EQ(truths.element_type(), ElementType::kBool);
  EXPECT_EQ(truths.memory(), bytes.memory());
  const auto parameter = std::make_shared<op::v0::Parameter>(element::boolean, PartialShape{3});
  const PortInfo port(std::static_pointer_cast<const Node>(parameter)->output(0));
  EXPECT_NO_THROW(check_tensor(port, bytes, bytes.shape(), true));
  const Tensor floats(element::f32, Shape{3});
  EXPECT_THAT(error_of([&] { check_tensor(port, floats, floats.shape(), true); }).what(), HasSubstr("f32 != bool"));
  EXPECT_THAT(error_of([&] { check_tensor(port, bytes, Shape{4}, true); }).what(), HasSubstr("expecting [3]"));
  EXPECT_THAT(error_of([&] { check_tensor(port, Tensor(), Shape{3}, false); }).what(), HasSubstr("not initialized"));
}

class Batches : public ::testing::Test {
 protected:
  std::shared_ptr<Model> graph = relu_model(PartialShape{3, 4});
  PortInfo port{std::static_pointer_cast<const Node>(graph->get_parameters()[0])->output(0)};
  Tensor whole{element::f32, Shape{3, 4}};
  Tensor item(std::size_t index) const {
    return Tensor(TensorInfo{element::f32, Shape{1, 4}, {}}, whole.memory(), index * 16);
  }
};

TEST_F(Batches, AdjacentItemsAreOneTensorAndOthersAreNot) {
  const std::vector<Tensor> adjacent{item(0), item(1), item(2)};
  const Tensor made = joined(adjacent, batch_shape(port, adjacent));
  ASSERT_TRUE(made);
  EXPECT_EQ(made.shape(), (Shape{3, 4}));
  EXPECT_EQ(made.data(), whole.data());
  EXPECT_FALSE(joined({item(0), item(2), item(1)}, Shape{3, 4})) << "another order";
  EXPECT_FALSE(joined({item(0), item(1), Tensor(element::f32, Shape{1, 4})}, Shape{3, 4})) << "another memory";
}

TEST_F(Batches, AreRefusedWithWhatTheInputTakes) {
  const auto message = [&](const std::vector<Tensor>& items) {
    return std::string(error_of([&] { batch_shape(port, items); }).what());
  };
  EXPECT_THAT(message({item(0), item(1)}), HasSubstr("as many tensors as its batch, got 2"));
  EXPECT_THAT(message({whole, whole, whole}), HasSubstr("must have a batch of 1"));
  EXPECT_THAT(message({Tensor(), item(1), item(2)}), HasSubstr("needs as many tensors"));
  EXPECT_THAT(message({item(0), Tensor(element::i32, Shape{1, 4}), item(2)}), HasSubstr("must be of f32"));
  graph->get_parameters()[0]->output(0).get_rt_info()["layout"] = std::string("[C,N]");
  EXPECT_THAT(message({item(0), item(1), item(2)}), HasSubstr("layout of 'x' is [C,N]"));
}

TEST_F(Batches, AreCopiedInTheirOrderAndBooked) {
  for (int i = 0; i < 12; ++i) whole.data<float>()[i] = static_cast<float>(i);
  const Tensor copy(element::f32, Shape{3, 4});
  Ledger ledger;
  copy_items({item(2), item(0), item(1)}, copy, ledger);
  EXPECT_EQ(copy.data<float>()[0], 8);
  EXPECT_EQ(copy.data<float>()[4], 0);
  EXPECT_EQ(copy.data<float>()[11], 7);
  EXPECT_EQ(ledger.total().copied, whole.size_bytes());
}

TEST(DeviceRequests, ThatAreLeftHoldNoMemoryAndAreFoundAgain) {
  Parts parts(relu_model(PartialShape{1, 3, 4, 8}), {takes_strides(true)});
  InferRequestImpl* const plain = parts.devices.active().impl.get();
  const Tensor tensor(element::f32, Shape{1, 3, 4, 8});
  parts.devices.active().bind({true, 0}, tensor);
  const std::uint32_t held = tensor.memory()->ref_count();
  const InputVariant::Key frames{FrameInfo{kRgb24, 8, 4, ColourSpace::kUnknown, ColourRange::kFull}};
  EXPECT_TRUE(parts.devices.use(frames));
  EXPECT_EQ(tensor.memory()->ref_count(), held - 1);
  EXPECT_NE(parts.devices.active().impl.get(), plain);
  EXPECT_FALSE(parts.devices.use(frames)) << "it is in use already";
  EXPECT_TRUE(parts.devices.use({}));
  EXPECT_EQ(parts.devices.active().impl.get(), plain);
  parts.devices.clear();
  EXPECT_EQ(live_requests, 0);
}

TEST(DeviceRequests, ThatCannotBeMadeLeaveTheOldOneInUse) {
  Parts parts(relu_model(PartialShape{1, 3, 4, 8}));
  InferRequestImpl* const plain = parts.devices.active().impl.get();
  const InputVariant::Key wide{FrameInfo{kRgb24, std::numeric_limits<std::uint32_t>::max(), 4}};
  EXPECT_THROW(parts.devices.use(wide), Error);
  EXPECT_EQ(parts.devices.active().impl.get(), plain);
}

TEST(Bindings, KeepTheirTensorWhenAnotherIsRefused) {
  Parts parts(relu_model());
  Bindings bindings(parts.model, parts.devices, parts.ledger);
  const Tensor good(element::f32, Shape{1, 4});
  bindings.set({true, 0}, good);
  EXPECT_THROW(bindings.set({true, 0}, Tensor(element::i32, Shape{1, 4})), AssertFailure);
  EXPECT_EQ(bindings.get({true, 0}).memory(), good.memory());
  const std::uint32_t held = good.memory()->ref_count();
  bindings.clear();
  EXPECT_LT(good.memory()->ref_count(), held);
}

TEST(Bindings, CopyOnlyWhatIsPackedAtEveryInference) {
  Parts parts(relu_model());
  Bindings bindings(parts.model, parts.devices, parts.ledger);
  const Tensor input = strided(), output = strided();
  bindings.set({true, 0}, input);
  bindings.set({false, 0}, output);
  for (std::size_t runs = 1; runs < 3; ++runs) {
    bindings.prepare();
    EXPECT_EQ(parts.ledger.total().copied, (2 * runs - 1) * 16);
    bindings.complete();
    EXPECT_EQ(parts.ledger.total().copied, 2 * runs * 16);
  }
  bindings.set({true, 0}, Tensor(element::f32, Shape{1, 4}));
  bindings.prepare();
  EXPECT_EQ(parts.ledger.total().copied, 4 * 16) << "an input in place is not copied";
}

}  // namespace bindings_test
}  // namespace tenon::testing
