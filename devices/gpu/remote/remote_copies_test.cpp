// SPDX-License-Identifier: Apache-2.0
// Copies between remote tensors, their regions, and host memory: what arrives, what stays, and what the ledger says.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace remote_copies_test {

using intel_gpu::ocl::ClContext;
using ::testing::HasSubstr;

/// A place that the test can make a tensor in.
struct Place {
  std::string name;
  std::function<Tensor(const Shape& shape)> make;
};

void copy(const Tensor& from, Tensor to) {
  if (dynamic_cast<RemoteMemory*>(from.memory().get()))
    RemoteTensor(from).copy_to(to);
  else
    RemoteTensor(to).copy_from(from);
}
std::vector<float> values_of(const Tensor& tensor) {
  Tensor packed(element::f32, tensor.shape());
  if (dynamic_cast<RemoteMemory*>(tensor.memory().get()))
    copy(tensor, packed);
  else
    tensor.copy_to(packed);
  return {packed.data<float>(), packed.data<float>() + packed.element_count()};
}
void fill(const Tensor& tensor, float first) {
  Tensor values(element::f32, tensor.shape());
  std::iota(values.data<float>(), values.data<float>() + values.element_count(), first);
  Tensor target = tensor;
  if (dynamic_cast<RemoteMemory*>(tensor.memory().get()))
    copy(values, target);
  else
    values.copy_to(target);
}

/// A region of a tensor of this shape.
struct Region {
  Shape whole, begin, end;
};
std::vector<Region> regions() {
  return {{{64}, {3}, {43}},
          {{8, 40}, {2, 0}, {6, 40}},
          {{8, 40}, {1, 5}, {7, 21}},
          {{3, 8, 10}, {0, 2, 1}, {3, 6, 9}},
          {{2, 3, 8, 10}, {0, 1, 2, 1}, {2, 3, 6, 9}},
          {{2, 3, 4, 8, 10}, {0, 1, 1, 2, 1}, {2, 3, 3, 6, 9}}};
}
/// Another region of that shape, packed otherwise.
Region beside(const Region& region) {
  Region other{region.whole, Shape(region.whole.size(), 0), {}};
  for (std::size_t axis = 0; axis < region.whole.size(); ++axis) {
    other.whole[axis] += 3;
    other.begin[axis] = axis % 2;
    other.end.push_back(other.begin[axis] + region.end[axis] - region.begin[axis]);
  }
  return other;
}

class GpuCopies : public Gpu {
 protected:
  std::vector<Place> places() {
    ClContext context(core, app.context), again(core, app.context), own(core);
    std::vector<Place> all{
        {"host", [](const Shape& shape) { return Tensor(element::f32, shape); }},
        {"buffer", [=](const Shape& shape) mutable { return context.create_tensor(element::f32, shape); }},
        {"another context's buffer",
         [=](const Shape& shape) mutable { return again.create_tensor(element::f32, shape); }},
        {"another cl_context's", [=](const Shape& shape) mutable { return own.create_tensor(element::f32, shape); }}};
    const auto device = opencl::client::read_device(app.device);
    if (device.usm || (device.svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) {
      all.push_back({"USM of the host",
                     [=](const Shape& shape) mutable { return context.create_usm_host_tensor(element::f32, shape); }});
      all.push_back({"USM of the device", [=](const Shape& shape) mutable {
                       return context.create_usm_device_tensor(element::f32, shape);
                     }});
    }
    return all;
  }
};

/// Between all kinds of memory, and regions of one to five axes: the region has the values, what is around it keeps its own.
TEST_F(GpuCopies, OfRegionsArrive) {
  const std::vector<Place> all_places = places();
  for (const Place& from : all_places)
    for (const Place& to : all_places) {
      if (from.name == "host" && to.name == "host") continue;
      for (const Region& region : regions()) {
        SCOPED_TRACE(from.name + " to " + to.name + ", " + to_string(region.begin) + " to " + to_string(region.end));
        const Region other = beside(region);
        const Tensor source = from.make(region.whole), target = to.make(other.whole);
        fill(source, 1);
        fill(target, -100000);
        std::vector<float> expected = values_of(target);
        copy(Tensor(source, region.begin, region.end), Tensor(target, other.begin, other.end));
        Tensor host(element::f32, other.whole, expected.data());
        Tensor in_host(host, other.begin, other.end);
        Tensor all(element::f32, region.whole);
        std::iota(all.data<float>(), all.data<float>() + all.element_count(), 1.0f);
        Tensor(all, region.begin, region.end).copy_to(in_host);
        ASSERT_EQ(values_of(target), expected);
      }
    }
}

TEST_F(GpuCopies, WithinOneBufferMayOverlap) {
  ClContext context(core);
  const RemoteTensor whole = context.create_tensor(element::f32, Shape{8, 16});
  const auto check = [&](const Shape& from_begin, const Shape& from_end, const Shape& to_begin, const Shape& to_end) {
    fill(whole, 0);
    std::vector<float> expected = values_of(whole), moved = values_of(Tensor(whole, from_begin, from_end));
    Tensor host(element::f32, whole.shape(), expected.data());
    Tensor part(host, to_begin, to_end);
    Tensor(element::f32, part.shape(), moved.data()).copy_to(part);
    copy(Tensor(whole, from_begin, from_end), Tensor(whole, to_begin, to_end));
    EXPECT_EQ(values_of(whole), expected);
  };
  check({0, 0}, {4, 16}, {4, 0}, {8, 16});
  check({0, 0}, {5, 16}, {2, 0}, {7, 16});
  check({0, 0}, {8, 8}, {0, 8}, {8, 16});
  check({0, 0}, {6, 10}, {2, 3}, {8, 13});
}

/// The copies of a Core's tensors are in its ledger, and in that of the process.
TEST_F(GpuCopies, AreInTheLedger) {
  ClContext context(core);
  auto compiled = core.compile_model(line_model(), context);
  constexpr std::size_t kBytes = kCount * sizeof(float);
  const Tensor host(element::f32, Shape{kCount});
  std::vector<RemoteTensor> tensors{context.create_tensor(element::f32, Shape{kCount}),
                                    compiled.get_context().create_tensor(element::f32, Shape{kCount}),
                                    context.create_tensor(element::f32, Shape{1})};
  for (RemoteTensor& tensor : tensors) {
    const auto moved = [](const Ledger& ledger) { return ledger.total().copied + ledger.total().transferred; };
    const std::uint64_t before = moved(core.ledger()), process_before = moved(Ledger::process());
    tensor.copy_from(host);  // The last one grows.
    EXPECT_EQ(moved(core.ledger()) - before, kBytes);
    Tensor back(element::f32, Shape{kCount});
    tensor.copy_to(back);
    tensors[0].copy_to(tensor);
    EXPECT_EQ(moved(core.ledger()) - before, &tensor == tensors.data() ? 4 * kBytes : 3 * kBytes);
    EXPECT_EQ(moved(Ledger::process()) - process_before, moved(core.ledger()) - before);
  }
  EXPECT_THAT(core.ledger().report(), HasSubstr("GPU: remote copy"));
  EXPECT_EQ(Core().ledger().total().copied, 0u);
}

TEST_F(GpuCopies, OfOtherTypesAndShapesAreRefused) {
  ClContext context(core);
  RemoteTensor tensor = context.create_tensor(element::f32, Shape{4});
  EXPECT_THAT(error_of([&] { tensor.copy_from(Tensor(element::i32, Shape{4})); }).what(), HasSubstr("types"));
  EXPECT_THROW(tensor.copy_from(Tensor()), Error);
  Tensor small(element::f32, Shape{3});
  auto* const memory = dynamic_cast<RemoteMemory*>(tensor.memory().get());
  EXPECT_THAT(error_of([&] { memory->copy_to(tensor, small); }, Code::kInvalidArgument), HasSubstr("must be the same"));
}

}  // namespace remote_copies_test
}  // namespace tenon::gpu_testing
