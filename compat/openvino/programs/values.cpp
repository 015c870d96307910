// SPDX-License-Identifier: Apache-2.0
// Types, shapes, layouts, tensors, Any.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <tuple>

#include <openvino/op/constant.hpp>

#include "programs.hpp"

// As OpenVINO's programs do: ov is a namespace.
namespace ov {
class Tensor;
class Core;
template <typename T>
inline std::string shown(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
}  // namespace ov

namespace {

void types() {
  for (const ov::element::Type& type :
       {ov::element::f32, ov::element::bf16, ov::element::boolean, ov::element::u4, ov::element::i64,
        ov::element::string, ov::element::dynamic, ov::element::f8e4m3, ov::element::u1}) {
    line(type, ' ', type.bitwidth(), ' ', type.is_real(), type.is_signed(), type.is_integral_number(),
         type.is_quantized(), type.is_static(), ' ', type.get_type_name());
  }
  line(ov::element::Type("f16"), ' ', ov::element::from<std::uint16_t>(), ' ', ov::element::from<ov::float16>(), ' ',
       ov::element::from<bool>(), ' ', ov::element::f32 == ov::element::Type_t::f32);
  ov::element::Type merged;
  line(ov::element::Type::merge(merged, ov::element::dynamic, ov::element::i8), ' ', merged);
  line(ov::float16(1.0F / 3), ' ', ov::float16(65504.0F).to_bits(), ' ', ov::float16(1e-7F).to_bits(), ' ',
       ov::float16(-2.5F) * 2, ' ', ov::bfloat16(3.14159F), ' ', ov::bfloat16(1.0F).to_bits(), ' ',
       std::numeric_limits<ov::float16>::max());
}

void shapes() {
  const ov::Shape shape{2, 3, 4};
  line(shape, ' ', shape.to_string(), ' ', ov::shape_size(shape), ' ', shape[-1], ' ', ov::Shape("[5, 6]"), ' ',
       ov::Shape(2, 7), ' ', ov::Shape{});
  line(ov::Strides{1, 2}, ' ', ov::Coordinate{0, 1}, ' ', ov::CoordinateDiff{-1, 1}, ' ', ov::AxisSet{1, 0}, ' ',
       ov::AxisVector{1, 0});
  for (const std::size_t stride : ov::row_major_strides(shape)) line(stride);
  line(ov::row_major_stride(shape, 0), ' ', ov::PartialShape{1, -1}.all_non_negative(), ' ',
       *ov::PartialShape{2, 3}.crbegin(), ' ', ov::element::Type::get_known_types().size(), ' ',
       *ov::element::Type::get_known_types()[3]);
  const ov::PartialShape partial{1, -1, {2, 8}, ov::Dimension(3, -1)};
  line(partial, ' ', partial.is_dynamic(), ' ', partial.rank(), ' ', partial[2].get_max_length(), ' ',
       partial[3].get_max_length(), ' ', partial.get_min_shape());
  line(ov::PartialShape("[1,?,2..8,3..]") == partial, ' ', ov::PartialShape::dynamic(), ' ',
       ov::PartialShape::dynamic(2), ' ', ov::PartialShape(shape).to_shape(), ' ',
       ov::PartialShape("[...]").rank().is_dynamic(), ' ', ov::PartialShape("1,2"));
  ov::PartialShape merged{1, -1};
  line(ov::PartialShape::merge_into(merged, {-1, 5}), ' ', merged, ' ', merged.compatible({1, 6}), ' ',
       merged.refines({1, -1}));
  merged.push_back(7);
  line(merged, ' ', merged.size(), ' ', merged[-1]);
  line(ov::Dimension(2, 4) + ov::Dimension(3), ' ', ov::Dimension(2, 4) * 2, ' ', ov::Dimension(), ' ',
       ov::Dimension("7"), ' ', (ov::Dimension(1, 5) & ov::Dimension(3, 9)), ' ', ov::Dimension(9) / 3);
  refused(
      "shape of a dynamic shape", [] { ov::PartialShape{-1}.to_shape(); }, "to_shape was called on a dynamic shape");
  refused("length of a dynamic extent", [] { (void)ov::Dimension().get_length(); });
  refused("a dimension of two", [] { (void)ov::Dimension("1,2"); });
  line(ov::Layout("NCHW").to_string(), ' ', ov::Layout("N...C").to_string(), ' ', ov::Layout().to_string(), ' ',
       ov::Layout("[n, c, custom]").to_string(), ' ', ov::layout::channels_idx("NHWC"), ' ',
       ov::layout::width_idx("N...W"), ' ', ov::layout::has_batch("CHW"), ' ', ov::Layout("NC") == ov::Layout("nc"),
       ' ', ov::Layout::scalar().to_string());
  refused("layout with a repeated name", [] { ov::Layout("NNCH"); });
}

struct Counting {
  std::shared_ptr<int> live = std::make_shared<int>(0);
  void* allocate(std::size_t bytes, std::size_t alignment) {
    ++*live;
    return ::operator new(bytes, std::align_val_t(alignment));
  }
  void deallocate(void* pointer, std::size_t, std::size_t alignment) noexcept {
    --*live;
    ::operator delete(pointer, std::align_val_t(alignment));
  }
  bool is_equal(const Counting& other) const { return live == other.live; }
};

void tensors() {
  ov::Tensor tensor(ov::element::f32, ov::Shape{2, 3});
  for (int i = 0; i < 6; ++i) tensor.data<float>()[i] = static_cast<float>(i);
  line(tensor.get_size(), ' ', tensor.get_byte_size(), ' ', tensor.get_strides(), ' ', tensor.is_continuous(), ' ',
       static_cast<bool>(tensor), !ov::Tensor());
  ov::Tensor region(tensor, {0, 1}, {2, 3});
  line(region.get_shape(), ' ', region.get_strides(), ' ', region.is_continuous(), ' ', region.data<float>()[0]);
  ov::Tensor copy(ov::element::f32, ov::Shape{0});
  region.copy_to(copy);
  print_values("region", copy);
  const ov::Tensor same = tensor;
  tensor.set_shape({3, 2});
  line(same.get_shape());
  tensor.set_shape({100});
  line(same.get_shape());
  float mine[4] = {1, 2, 3, 4};
  ov::Tensor borrowed(ov::element::f32, {2, 2}, mine);
  borrowed.data<float>()[3] = 9;
  line(mine[3], ' ', borrowed.data() == mine);
  const ov::Tensor strided(ov::element::f32, {2, 1}, static_cast<void*>(mine), ov::Strides{8, 4});
  line(strided.is_continuous(), ' ', strided.get_strides());
  Counting counting;
  {
    ov::Tensor own(ov::element::u8, {16}, counting);
    line("allocated ", *counting.live);
  }
  line("allocated ", *counting.live);
  ov::Tensor texts(ov::element::string, {2});
  texts.data<std::string>()[1] = "word";
  line(texts.data<std::string>()[0].empty(), texts.data<std::string>()[1]);
  refused(
      "tensor as another type", [&] { tensor.data<std::int64_t>(); }, "is not representable as pointer to");
  refused(
      "copy to another type", [&] { tensor.copy_to(ov::Tensor(ov::element::i32, {100})); },
      "Tensor element types are not equal");
  refused(
      "growing borrowed memory", [&] { borrowed.set_shape({50}); }, "Could set new shape: ");
  refused("empty tensor", [] { ov::Tensor().get_shape(); });
  refused("null for a shape", [] { ov::Tensor(ov::element::f32, {2}, static_cast<void*>(nullptr)); });
  refused("region outside", [&] { ov::Tensor(borrowed, {0, 0}, {3, 2}); });
  line("remote ", tensor.is<ov::RemoteTensor>());
  refused(
      "host tensor as remote", [&] { tensor.as<ov::RemoteTensor>(); }, "Tensor is not remote.");
  refused(
      "empty context", [] { ov::RemoteContext().get_params(); }, "RemoteContext was not initialized.");
  refused(
      "empty remote tensor", [] { ov::RemoteTensor().get_params(); }, "Tensor was not initialized.");
  line(static_cast<bool>(ov::RemoteContext()), static_cast<bool>(ov::InferRequest()),
       static_cast<bool>(ov::CompiledModel()));
}

struct Unprintable {
  int number = 5;
};

void any() {
  const ov::Any number = 7;
  line(number.as<int>(), ' ', number.as<std::string>(), ' ', number.as<float>(), ' ', number.is<int>(),
       number.is<long>());
  line(ov::Any("42").as<int>(), ' ', ov::Any("YES").as<bool>(), ' ', ov::Any(true).as<std::string>(), ' ',
       ov::Any("1.5").as<float>());
  line(ov::Any(std::vector<int>{1, 2, 3}).as<std::string>(), '|', ov::Any("4 5").as<std::vector<int>>()[1], '|',
       ov::Any(std::set<std::string>{"b", "a"}).as<std::string>(), '|',
       ov::Any(std::tuple<unsigned, unsigned>(1, 2)).as<std::string>());
  line(ov::Any(ov::AnyMap{{"A", 1}, {"B", ov::AnyMap{{"C", "text"}}}}).as<std::string>());
  ov::AnyMap parsed = ov::Any("{KEY:3,OTHER:{INNER:x}}").as<ov::AnyMap>();
  line(parsed.size(), ' ', parsed["KEY"].as<int>(), ' ', parsed["OTHER"].as<ov::AnyMap>()["INNER"].as<std::string>());
  ov::Any text = std::string("abc");
  text.as<std::string>() += "d";
  line(text.as<std::string>(), ' ', ov::Any(1) == ov::Any(1), ov::Any(1) == ov::Any(2), ' ', ov::Any().empty());
  line(ov::Any(Unprintable{}).as<Unprintable>().number);
  line(ov::Any(ov::hint::PerformanceMode::LATENCY).as<std::string>(), ' ',
       ov::Any("THROUGHPUT").as<ov::hint::PerformanceMode>() == ov::hint::PerformanceMode::THROUGHPUT);
  refused("text that is no number", [] { ov::Any("abc").as<int>(); });
  refused("empty any", [] { ov::Any().as<int>(); });
  refused(
      "another type", [] { ov::Any(Unprintable{}).as<int>(); }, "Bad as from");
}

}  // namespace

namespace {
/// Codes of numbers between 0 and the largest, and what codes stand for.
template <typename T>
void small_float(const std::string& name, int codes) {
  std::size_t rounded = 0, numbers = 0;
  for (int code = 0; code < codes; ++code) {
    const float value = T::from_bits(static_cast<std::uint8_t>(code));
    if (!std::isfinite(value)) continue;
    ++numbers;
    for (const float factor : {0.97F, 1.0F, 1.02F, 1.0625F, 1.25F, 1.5F})
      rounded = (rounded * 31 + T(value * factor).to_bits()) % 1000003;
  }
  line(name, ' ', numbers, ' ', rounded, ' ', T(0.3F), ' ', T(2.5F) + T(1.0F), ' ', T(3) * 2, ' ',
       static_cast<int>(T(1.0F).to_bits()), ' ', T(1.0F) < T(4.0F), ' ', ov::element::from<T>(), ' ', sizeof(T));
}
}  // namespace

void values() {
  small_float<ov::float8_e4m3>("float8_e4m3", 256);
  small_float<ov::float8_e5m2>("float8_e5m2", 256);
  small_float<ov::float8_e8m0>("float8_e8m0", 254);
  small_float<ov::float4_e2m1>("float4_e2m1", 16);
  auto few = ov::op::v0::Constant::create(ov::element::f8e4m3, {3}, std::vector<ov::float8_e4m3>{0.5F, -2.0F, 448.0F});
  line("constant ", few->get_byte_size(), ' ', few->cast_vector<float>()[1], ' ',
       few->get_data_ptr<ov::float8_e4m3>()[2], ' ', static_cast<float>(few->cast_vector<ov::float8_e4m3>()[0]));
  types();
  shapes();
  tensors();
  any();
  line(ov::shown(3));
}
