// SPDX-License-Identifier: Apache-2.0
// Element types, shapes, allocators and tensors.
#include <openvino/op/util/attr_types.hpp>
#include <openvino/runtime/tensor.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <new>
#include <ostream>

#include <openvino/core/axis_set.hpp>
#include <openvino/core/axis_vector.hpp>
#include <openvino/core/coordinate_diff.hpp>
#include <openvino/runtime/remote_tensor.hpp>
#include <tenon/core/adopt_bytes.hpp>
#include <tenon/core/host.hpp>
#include <tenon/runtime/remote_tensor.hpp>

#include "convert.hpp"

namespace ov {
namespace {

using tenon::ElementType;
/// In the order of Type_t.
constexpr ElementType kTypes[] = {
    ElementType::kUndefined, ElementType::kBool,      ElementType::kBf16,   ElementType::kF16,
    ElementType::kF32,       ElementType::kF64,       ElementType::kI4,     ElementType::kI8,
    ElementType::kI16,       ElementType::kI32,       ElementType::kI64,    ElementType::kU1,
    ElementType::kUndefined, ElementType::kUndefined, ElementType::kU4,     ElementType::kUndefined,
    ElementType::kU8,        ElementType::kU16,       ElementType::kU32,    ElementType::kU64,
    ElementType::kNf4,       ElementType::kF8E4M3,    ElementType::kF8E5M2, ElementType::kString,
    ElementType::kF4E2M1,    ElementType::kF8E8M0};

struct OddType {
  element::Type_t type;
  const char* name;
  std::size_t bits;
};
constexpr OddType kOddTypes[] = {
    {element::Type_t::u2, "u2", 2}, {element::Type_t::u3, "u3", 3}, {element::Type_t::u6, "u6", 6}};
const OddType* odd(element::Type_t type) {
  const auto* found =
      std::find_if(std::begin(kOddTypes), std::end(kOddTypes), [&](auto& each) { return each.type == type; });
  return found == std::end(kOddTypes) ? nullptr : found;
}
const tenon::ElementTypeInfo& info_of(element::Type_t type) {
  return tenon::info(kTypes[static_cast<std::size_t>(type)]);
}

template <typename Values>
std::ostream& print_list(std::ostream& out, const char* name, const Values& values) {
  out << name << "{";
  const char* separator = "";
  for (const auto& value : values) {
    out << separator << value;
    separator = ", ";
  }
  return out << "}";
}

}  // namespace

namespace detail {

ElementType to(const element::Type& type) {
  if (odd(type)) OPENVINO_THROW("no tensor has elements of type ", type, ": Tenon computes with u1, u4 and u8");
  return kTypes[static_cast<std::size_t>(static_cast<element::Type_t>(type))];
}
element::Type from(ElementType type) {
  static const auto kBack = [] {
    std::array<element::Type_t, std::size(tenon::kElementTypes)> back{};
    for (std::size_t i = 0; i < std::size(kTypes); ++i) {
      if (kTypes[i] != ElementType::kUndefined)
        back[static_cast<std::size_t>(kTypes[i])] = static_cast<element::Type_t>(i);
    }
    return back;
  }();
  const element::Type found = kBack[static_cast<std::size_t>(type)];
  if (found.is_dynamic() && type != ElementType::kUndefined) {
    OPENVINO_THROW("OpenVINO has no element type ", tenon::name(type));
  }
  return found;
}
tenon::Dimension to(const Dimension& dimension) {
  return guarded([&] { return tenon::Dimension(dimension.get_min_length(), dimension.get_max_length()); });
}
Dimension from(const tenon::Dimension& dimension) { return {dimension.get_min_length(), dimension.get_max_length()}; }
tenon::PartialShape to(const PartialShape& shape) {
  if (shape.rank().is_dynamic()) return tenon::PartialShape::dynamic();
  std::vector<tenon::Dimension> dimensions;
  for (const Dimension& dimension : shape) dimensions.push_back(to(dimension));
  return dimensions;
}
PartialShape from(const tenon::PartialShape& shape) {
  if (shape.rank().is_dynamic()) return PartialShape::dynamic();
  std::vector<Dimension> dimensions;
  for (const tenon::Dimension& dimension : shape) dimensions.push_back(from(dimension));
  return dimensions;
}
const tenon::Tensor& to(const Tensor& tensor) {
  if (!tensor) OPENVINO_THROW("Tensor was not initialized.");
  return tensor.impl()->tensor;
}
Tensor from(tenon::Tensor&& tensor) { return Tensor(std::make_shared<ITensor>(std::move(tensor))); }

}  // namespace detail

using detail::from;
using detail::guarded;
using detail::to;

namespace element {
Type::Type(const std::string& text) {
  const auto* found =
      std::find_if(std::begin(kOddTypes), std::end(kOddTypes), [&](auto& each) { return each.name == text; });
  if (found != std::end(kOddTypes)) {
    type_ = found->type;
    return;
  }
  const auto known = tenon::element_type_from_name(text);
  if (!known) OPENVINO_THROW("Incorrect type: ", text);
  type_ = detail::from(*known);
}
std::size_t Type::bitwidth() const { return odd(type_) ? odd(type_)->bits : info_of(type_).bits; }
bool Type::is_real() const { return info_of(type_).is_real && type_ != Type_t::nf4; }
bool Type::is_integral_number() const { return is_integral() && type_ != Type_t::boolean; }
// OpenVINO's answers for types to which the words hardly apply.
bool Type::is_signed() const {
  return type_ == Type_t::boolean || type_ == Type_t::f8e8m0 || (info_of(type_).is_signed && type_ != Type_t::nf4);
}
bool Type::is_quantized() const {
  switch (type_) {
    case Type_t::i4:
    case Type_t::i8:
    case Type_t::u8:
    case Type_t::nf4:
    case Type_t::f8e4m3:
    case Type_t::f8e5m2:
    case Type_t::f4e2m1:
    case Type_t::f8e8m0:
      return true;
    default:
      return false;
  }
}
std::vector<const Type*> Type::get_known_types() {
  static constexpr Type kAll[] = {boolean, bf16, f16, f32, f64, i4,  i8,  i16,    i32,    i64,    u1,     u2,    u3,
                                  u4,      u6,   u8,  u16, u32, u64, nf4, f8e4m3, f8e5m2, string, f4e2m1, f8e8m0};
  std::vector<const Type*> all;
  for (const Type& type : kAll) all.push_back(&type);
  return all;
}
std::string Type::get_type_name() const { return odd(type_) ? odd(type_)->name : std::string(info_of(type_).name); }
std::string Type::c_type_string() const {
  switch (type_) {
    case Type_t::boolean:
      return "char";
    case Type_t::f32:
      return "float";
    case Type_t::f64:
      return "double";
    case Type_t::f16:
      return "float16";
    case Type_t::bf16:
      return "bfloat16";
    case Type_t::string:
      return "string";
    case Type_t::dynamic:
      return "dynamic";
    default:
      return (is_signed() ? "int" : "uint") + std::to_string(bitwidth()) + "_t";
  }
}
std::ostream& operator<<(std::ostream& out, const Type& type) { return out << type.get_type_name(); }
std::istream& operator>>(std::istream& in, Type& type) {
  std::string text;
  in >> text;
  type = Type(text);
  return in;
}
}  // namespace element

Shape::Shape(const std::string& text) : Shape(PartialShape(text).to_shape()) {}
std::string Shape::to_string() const { return tenon::to_string(to(*this)); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }
std::ostream& operator<<(std::ostream& out, const Strides& values) { return print_list(out, "Strides", values); }
std::ostream& operator<<(std::ostream& out, const Coordinate& values) { return print_list(out, "Coordinate", values); }
std::ostream& operator<<(std::ostream& out, const CoordinateDiff& values) {
  return print_list(out, "CoordinateDiff", values);
}
std::ostream& operator<<(std::ostream& out, const AxisVector& values) { return print_list(out, "AxisVector", values); }
std::ostream& operator<<(std::ostream& out, const AxisSet& values) { return print_list(out, "AxisSet", values); }

Interval::Interval(value_type min_val, value_type max_val) : min_(std::max<value_type>(min_val, 0)), max_(max_val) {
  if (max_val < min_val || max_val < 0) min_ = max_ = s_max;  // Empty.
}
Interval::size_type Interval::size() const {
  if (max_ == s_max) return empty() ? 0 : static_cast<size_type>(s_max);
  return static_cast<size_type>(max_ - min_) + 1;
}
namespace {
constexpr Interval::value_type kMost = Interval::s_max;
Interval::value_type sum(Interval::value_type a, Interval::value_type b) { return a > kMost - b ? kMost : a + b; }
Interval::value_type product(Interval::value_type a, Interval::value_type b) {
  return a == 0 || b == 0 ? 0 : a > kMost / b ? kMost : a * b;
}
Interval nothing() { return {1, 0}; }
}  // namespace
Interval Interval::operator+(const Interval& other) const {
  if (empty() || other.empty()) return nothing();
  return {sum(min_, other.min_), sum(max_, other.max_)};
}
Interval Interval::operator-(const Interval& other) const {
  if (empty() || other.empty()) return nothing();
  const value_type least = other.max_ == s_max ? 0 : std::max<value_type>(min_ - other.max_, 0);
  return {least, max_ == s_max ? s_max : max_ - other.min_};
}
Interval Interval::operator*(const Interval& other) const {
  if (empty() || other.empty()) return nothing();
  return {product(min_, other.min_), product(max_, other.max_)};
}
Interval Interval::operator&(const Interval& other) const {
  return {std::max(min_, other.min_), std::min(max_, other.max_)};
}
std::ostream& operator<<(std::ostream& out, const Interval& interval) {
  if (interval.empty()) return out << "Interval(empty)";
  out << "Interval(" << interval.get_min_val() << ", ";
  if (!interval.has_upper_bound()) return out << "...)";
  return out << interval.get_max_val() << ")";
}

Dimension::Dimension(value_type length) : Dimension(from(guarded([&] { return tenon::Dimension(length); }))) {}
Dimension::Dimension(value_type min, value_type max) : min_(min == -1 ? 0 : min), max_(max == -1 ? kUnbounded : max) {
  OPENVINO_ASSERT(min_ >= 0 && min_ <= max_, "a dimension of ", min, " to ", max);
}
Dimension::Dimension(std::string_view text)
    : Dimension(from(guarded([&] {
        const tenon::PartialShape one("[" + std::string(text) + "]");
        if (one.rank().is_dynamic() || one.size() != 1) OPENVINO_THROW("\"", text, "\" is no dimension");
        return one[0];
      }))) {}
Dimension::value_type Dimension::get_length() const {
  return guarded([&] { return to(*this).get_length(); });
}
bool Dimension::merge(Dimension& dst, const Dimension& a, const Dimension& b) {
  tenon::Dimension merged;
  const bool fits = tenon::Dimension::merge(merged, to(a), to(b));
  if (fits) dst = from(merged);
  return fits;
}
bool Dimension::broadcast_merge(Dimension& dst, const Dimension& a, const Dimension& b) {
  tenon::Dimension merged;
  const bool fits = tenon::Dimension::broadcast_merge(merged, to(a), to(b));
  if (fits) dst = from(merged);
  return fits;
}
Dimension Dimension::operator+(const Dimension& other) const { return from(to(*this) + to(other)); }
Dimension Dimension::operator-(const Dimension& other) const { return from(to(*this) - to(other)); }
Dimension Dimension::operator*(const Dimension& other) const { return from(to(*this) * to(other)); }
Dimension Dimension::operator/(value_type divisor) const {
  OPENVINO_ASSERT(divisor > 0, "a dimension divided by ", divisor);
  const auto most = get_max_length();
  return {(min_ + divisor - 1) / divisor, most == -1 ? -1 : most / divisor};
}
Dimension Dimension::operator&(const Dimension& other) const {
  Dimension both;
  OPENVINO_ASSERT(merge(both, *this, other), to_string(), " and ", other.to_string(), " have nothing in common");
  return both;
}
std::string Dimension::to_string() const { return to(*this).to_string(); }
std::ostream& operator<<(std::ostream& out, const Dimension& dimension) { return out << dimension.to_string(); }

PartialShape::PartialShape(const Shape& shape) {
  for (const std::size_t extent : shape) dimensions_.emplace_back(static_cast<Dimension::value_type>(extent));
}
PartialShape::PartialShape(const std::string& text)
    : PartialShape(from(guarded([&] {
        // "1,3,?" is "[1,3,?]".
        return tenon::PartialShape(text.empty() || text.front() != '[' ? "[" + text + "]" : text);
      }))) {}
PartialShape PartialShape::dynamic(Rank rank) {
  PartialShape shape;
  shape.rank_is_static_ = rank.is_static();
  if (rank.is_static()) shape.dimensions_.resize(static_cast<std::size_t>(rank.get_length()));
  return shape;
}
bool PartialShape::is_static() const {
  return rank_is_static_ && std::all_of(begin(), end(), [](const Dimension& each) { return each.is_static(); });
}
bool PartialShape::same_scheme(const PartialShape& other) const {
  return rank_is_static_ == other.rank_is_static_ && dimensions_.size() == other.dimensions_.size() &&
         std::equal(begin(), end(), other.begin(),
                    [](const Dimension& a, const Dimension& b) { return a.same_scheme(b); });
}
bool PartialShape::compatible(const PartialShape& other) const { return to(*this).compatible(to(other)); }
bool PartialShape::relaxes(const PartialShape& other) const { return to(*this).relaxes(to(other)); }
bool PartialShape::merge_rank(const Rank& rank) {
  if (rank.is_dynamic()) return true;
  if (!rank_is_static_) *this = dynamic(rank);
  return static_cast<Dimension::value_type>(dimensions_.size()) == rank.get_length();
}
bool PartialShape::merge_into(PartialShape& dst, const PartialShape& src) {
  tenon::PartialShape merged = to(dst);
  const bool fits = tenon::PartialShape::merge_into(merged, to(src));
  dst = from(merged);
  return fits;
}
bool PartialShape::broadcast_merge_into(PartialShape& dst, const PartialShape& src,
                                        const op::AutoBroadcastSpec& autob) {
  if (autob.m_type == op::AutoBroadcastType::NONE) return true;
  if (dst.rank().is_dynamic() || src.rank().is_dynamic()) {
    dst = dynamic();
    return true;
  }
  if (autob.m_type == op::AutoBroadcastType::PDPD) {
    // Extents of 1 at the end do not count; the rest has to be those of dst from an axis on.
    Dimensions part = src.dimensions_;
    const std::int64_t axis = autob.m_axis == -1
                                  ? static_cast<std::int64_t>(dst.size()) - static_cast<std::int64_t>(src.size())
                                  : autob.m_axis;
    while (!part.empty() && part.back() == Dimension(1)) part.pop_back();
    if (axis < 0 || static_cast<std::size_t>(axis) + part.size() > dst.size()) return false;
    bool fits = true;
    for (std::size_t i = 0; i < part.size(); ++i) {
      Dimension& extent = dst.dimensions_[static_cast<std::size_t>(axis) + i];
      fits = (part[i] == Dimension(1) || Dimension::merge(extent, extent, part[i])) && fits;
    }
    return fits;
  }
  const std::size_t rank = std::max(dst.size(), src.size());
  Dimensions merged(rank);
  bool fits = true;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto extent = [&](const PartialShape& shape) {
      return i + shape.size() < rank ? Dimension(1) : shape.dimensions_[i + shape.size() - rank];
    };
    fits = Dimension::broadcast_merge(merged[i], extent(dst), extent(src)) && fits;
  }
  dst = PartialShape(std::move(merged));
  return fits;
}
Shape PartialShape::to_shape() const {
  OPENVINO_ASSERT(is_static(), "to_shape was called on a dynamic shape ", to_string(), ".");
  return from(to(*this).to_shape());
}
Shape PartialShape::get_min_shape() const {
  return from(guarded([&] { return to(*this).get_min_shape(); }));
}
Shape PartialShape::get_max_shape() const {
  return from(guarded([&] { return to(*this).get_max_shape(); }));
}
PartialShape operator+(const PartialShape& a, const PartialShape& b) {
  if (a.rank().is_dynamic() || b.rank().is_dynamic()) return PartialShape::dynamic();
  OPENVINO_ASSERT(a.size() == b.size(), "rank mismatch: ", a, " + ", b);
  std::vector<Dimension> sums;
  for (std::size_t i = 0; i < a.size(); ++i)
    sums.push_back(a[static_cast<std::ptrdiff_t>(i)] + b[static_cast<std::ptrdiff_t>(i)]);
  return sums;
}
std::string PartialShape::to_string() const { return to(*this).to_string(); }
std::ostream& operator<<(std::ostream& out, const PartialShape& shape) { return out << shape.to_string(); }

struct Allocator::Default final : Allocator::Base {
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    return ::operator new(bytes, std::align_val_t(std::max<std::size_t>(alignment, 64)));
  }
  void deallocate(void* pointer, std::size_t, std::size_t alignment) noexcept override {
    ::operator delete(pointer, std::align_val_t(std::max<std::size_t>(alignment, 64)));
  }
  bool equals(const Base& other) const override { return dynamic_cast<const Default*>(&other) != nullptr; }
};
const std::shared_ptr<Allocator::Base>& Allocator::default_impl() {
  static const std::shared_ptr<Base> only = std::make_shared<Default>();
  return only;
}
Allocator::Allocator() : impl_(default_impl()) {}
bool Allocator::is_default() const noexcept { return impl_ == default_impl(); }

ITensor::ITensor(tenon::Tensor&& from_tensor, std::shared_ptr<void> held)
    : owner(std::move(held)), tensor(std::move(from_tensor)), type(from(tensor.element_type())) {}
void ITensor::set(tenon::Tensor from_tensor) {
  tensor = std::move(from_tensor);
  type = from(tensor.element_type());
  if (Shape* known = shape_.load()) known->assign(tensor.shape().begin(), tensor.shape().end());
}
const Shape& ITensor::shape() const {
  Shape* known = shape_.load(std::memory_order_acquire);
  if (!known) {
    auto made = std::make_unique<Shape>(tensor.shape().begin(), tensor.shape().end());
    // Another thread may have been faster.
    if (shape_.compare_exchange_strong(known, made.get())) known = made.release();
  }
  return *known;
}

namespace {

std::shared_ptr<ITensor> allocated(const element::Type& type, const Shape& shape) {
  return guarded([&] {
    OPENVINO_ASSERT(type.is_static(), "a tensor's element type must be static");
    return detail::in_place([&] { return tenon::Tensor(to(type), to(shape)); });
  });
}
tenon::Tensor allocated_by(const Allocator& allocator, const element::Type& type, const Shape& shape) {
  const auto bytes = tenon::checked_size_bytes(to(type), to(shape));
  OPENVINO_ASSERT(bytes, "the size of a tensor of shape ", shape, " overflows");
  // The device may still read it when the program has no tensor any more, so the memory itself gives it back.
  Allocator owned = allocator;
  void* data = owned.allocate(*bytes, 64);
  OPENVINO_ASSERT(data, "the allocator has no ", *bytes, " bytes");
  auto memory = tenon::adopt_bytes(data, *bytes, false,
                                   [owned, data, bytes = *bytes]() mutable { owned.deallocate(data, bytes, 64); });
  return tenon::Tensor(tenon::TensorInfo{to(type), to(shape), {}}, tenon::Ref<tenon::Memory>(memory));
}
std::shared_ptr<ITensor> allocated(const element::Type& type, const Shape& shape, const Allocator& allocator) {
  return guarded([&] {
    OPENVINO_ASSERT(type.is_static(), "a tensor's element type must be static");
    OPENVINO_ASSERT(allocator, "Allocator was not initialized");
    if (allocator.is_default() || type == element::string) return allocated(type, shape);
    auto tensor = std::make_shared<ITensor>(allocated_by(allocator, type, shape));
    tensor->allocator = std::make_shared<Allocator>(allocator);
    return tensor;
  });
}
std::shared_ptr<ITensor> borrowed(const element::Type& type, const Shape& shape, const void* data,
                                  const Strides& strides, bool read_only) {
  return guarded([&] {
    OPENVINO_ASSERT(type.is_static(), "a tensor's element type must be static");
    const tenon::ByteStrides bytes(strides.begin(), strides.end());
    std::size_t packed = type.size();
    for (std::size_t i = std::min(strides.size(), shape.size()); i-- > 0; packed *= shape[i])
      OPENVINO_ASSERT(strides[i] % type.size() == 0 && (strides[i] >= packed || shape[i] < 2), "strides ", strides,
                      " of a tensor of ", type, shape, ": axis ", i, " needs a multiple of ", type.size(),
                      " bytes, and at least ", packed);
    auto tensor = detail::in_place([&] { return tenon::Tensor(to(type), to(shape), const_cast<void*>(data), bytes); });
    tensor->read_only = read_only;
    return tensor;
  });
}

}  // namespace

Tensor::Tensor(const element::Type& type, const Shape& shape) : _impl(allocated(type, shape)) {}
Tensor::Tensor(const element::Type& type, const Shape& shape, const Allocator& allocator)
    : _impl(allocated(type, shape, allocator)) {}
Tensor::Tensor(const element::Type& type, const Shape& shape, void* host_ptr, const Strides& strides)
    : _impl(borrowed(type, shape, host_ptr, strides, false)) {}
Tensor::Tensor(const element::Type& type, const Shape& shape, const void* host_ptr, const Strides& strides)
    : _impl(borrowed(type, shape, host_ptr, strides, true)) {}
namespace {
/// The shape of a tensor for a port: extents that are not known are 0, so that set_shape gives them.
Shape shape_for(const Output<const Node>& port) {
  if (port.get_partial_shape().is_static()) return port.get_shape();
  Shape shape;
  if (port.get_partial_shape().rank().is_static()) {
    for (const Dimension& dimension : port.get_partial_shape())
      shape.push_back(dimension.is_static() ? static_cast<std::size_t>(dimension.get_length()) : 0);
  } else {
    shape.push_back(0);
  }
  return shape;
}
}  // namespace
Tensor::Tensor(const Output<const Node>& port, const Allocator& allocator)
    : Tensor(port.get_element_type(), shape_for(port), allocator) {}
Tensor::Tensor(const Output<const Node>& port, void* host_ptr, const Strides& strides)
    : Tensor(port.get_element_type(), shape_for(port), host_ptr, strides) {}
Tensor::Tensor(const Tensor& other, const Coordinate& begin, const Coordinate& end) {
  OPENVINO_ASSERT(other, "Cannot create a region of an empty tensor: Tensor was not initialized.");
  _impl = guarded([&] { return std::make_shared<ITensor>(to(other).slice(to(begin), to(end)), other.impl()->owner); });
  _impl->read_only = other.impl()->read_only;
}
Tensor::Tensor(const Tensor& other, const std::shared_ptr<void>& owner) {
  _impl = std::make_shared<ITensor>(
      tenon::Tensor(to(other)),
      std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(owner, other.impl()->owner));
}
void Tensor::type_check(const Tensor&) {}

ITensor& Tensor::checked() const {
  if (!_impl) OPENVINO_THROW("Tensor was not initialized.");
  return *_impl;
}
void Tensor::set_shape(const Shape& shape) {
  ITensor& impl = checked();
  guarded([&] {
    // A part of a tensor whose rows lie apart stays where it is, and may not grow beyond what it was.
    const tenon::Tensor& whole = impl.region ? *impl.region : impl.tensor;
    const tenon::Shape wanted = to(shape);
    if (impl.allocator &&
        tenon::checked_size_bytes(to(impl.type), wanted).value_or(0) > impl.tensor.memory()->size_bytes())
      return impl.set(allocated_by(*impl.allocator, impl.type, shape));
    if (whole.is_contiguous() || wanted.size() != whole.shape().size()) {
      impl.tensor.set_shape(wanted);
      return impl.set(impl.tensor);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i)
      OPENVINO_ASSERT(wanted[i] <= whole.shape()[i], "Cannot set new shape: ", shape, " for a part of a tensor of ",
                      from(whole.shape()), ": dimension ", i, " has more elements");
    if (!impl.region) impl.region = impl.tensor;
    impl.set(impl.region->slice(tenon::Shape(wanted.size(), 0), wanted));
  });
  ++impl.changes;
}
const element::Type& Tensor::get_element_type() const { return checked().type; }
const Shape& Tensor::get_shape() const { return checked().shape(); }
std::size_t Tensor::get_size() const { return checked().tensor.element_count(); }
std::size_t Tensor::get_byte_size() const { return checked().tensor.size_bytes(); }
Strides Tensor::get_strides() const {
  const ITensor& impl = checked();
  if (impl.type.bitwidth() < 8)
    OPENVINO_THROW("Could not get strides for types with bitwidths less then 8 bit: ", impl.type);
  return Strides(impl.tensor.byte_strides().begin(), impl.tensor.byte_strides().end());
}
bool Tensor::is_continuous() const { return checked().tensor.is_contiguous(); }
void Tensor::copy_to(Tensor dst) const {
  const ITensor& source = checked();
  if (!dst) OPENVINO_THROW("Destination tensor was not initialized.");
  if (source.type != dst.get_element_type()) {
    OPENVINO_THROW("Tensor element types are not equal. (src: ", source.type, " != dst: ", dst.get_element_type(), ")");
  }
  ITensor& target = dst.checked();
  if (target.read_only) OPENVINO_THROW("the destination is a tensor over constant memory");
  if (target.shape() != source.shape()) dst.set_shape(source.shape());
  guarded([&] {
    const auto remote = [](const tenon::Tensor& each) { return each.is<tenon::RemoteTensor>(); };
    if (remote(target.tensor))
      tenon::RemoteTensor(target.tensor).copy_from(source.tensor);
    else if (remote(source.tensor))
      tenon::RemoteTensor(source.tensor).copy_to(target.tensor);
    else
      source.tensor.copy_to(target.tensor);
  });
}
void* Tensor::data() {
  if (checked().read_only) OPENVINO_THROW("Tensor over constant memory: its data is read through a const Tensor");
  return guarded([&] { return _impl->tensor.data(); });
}
const void* Tensor::data() const {
  return guarded([&] { return checked().tensor.data(); });
}
void* Tensor::checked_data(const element::Type& type, bool read_only) const {
  const ITensor& impl = checked();
  const bool alike = impl.type.bitwidth() == type.bitwidth() && impl.type.is_real() == type.is_real() &&
                     (impl.type == element::string) == (type == element::string);
  if (!alike)
    OPENVINO_THROW("Tensor data with element type ", impl.type, ", is not representable as pointer to ", type);
  if (impl.read_only && !read_only) OPENVINO_THROW("Tensor over constant memory: its data is read as const");
  return guarded([&] { return impl.tensor.data(); });
}
void* Tensor::data(const element::Type& type) { return checked_data(type, false); }
const void* Tensor::data(const element::Type& type) const { return checked_data(type, true); }

RemoteTensor::RemoteTensor(const RemoteTensor& other, const Coordinate& begin, const Coordinate& end) {
  OPENVINO_ASSERT(other, "Cannot create RoiRemoteTensor on top of empty tensor");
  _impl = guarded([&] { return std::make_shared<ITensor>(to(other).slice(to(begin), to(end)), other.impl()->owner); });
}
void RemoteTensor::type_check(const Tensor& tensor, const std::map<std::string, std::vector<std::string>>& type_info) {
  OPENVINO_ASSERT(tensor, "Could not check empty tensor type");
  guarded([&] { tenon::RemoteTensor::type_check(to(tensor), type_info); });
}
void RemoteTensor::copy_to(Tensor& dst) const {
  checked();
  if (!dst) {
    dst = Tensor(get_element_type(), get_shape());
  }
  Tensor::copy_to(dst);
}
void RemoteTensor::copy_from(const Tensor& src) {
  ITensor& impl = checked();
  guarded([&] {
    tenon::RemoteTensor self(impl.tensor);
    self.copy_from(to(src));
    impl.set(self);
  });
}
AnyMap RemoteTensor::get_params() const {
  return guarded([&] { return from(tenon::RemoteTensor(checked().tensor).get_params()); });
}
std::string RemoteTensor::get_device_name() const {
  return guarded([&] { return tenon::RemoteTensor(checked().tensor).get_device_name(); });
}

}  // namespace ov
