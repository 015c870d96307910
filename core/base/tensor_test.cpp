// SPDX-License-Identifier: Apache-2.0
// Tensors, shapes, small vectors, Any: values and their refusals.
#include <tenon/core/any.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/core/tensor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>

#include <tenon/core/platform/files.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tensor_test {

using namespace tenon;
using ::testing::HasSubstr;

Tensor iota(const Shape& shape) {
  Tensor tensor(element::i32, shape);
  std::iota(tensor.data<std::int32_t>(), tensor.data<std::int32_t>() + tensor.element_count(), 0);
  return tensor;
}

TEST(SmallVector, GoesToTheHeapAndBack) {
  Shape shape;
  for (std::size_t i = 0; i < 20; ++i) shape.push_back(i);
  Shape copy = shape, moved = std::move(copy);
  EXPECT_EQ(moved, shape);
  EXPECT_TRUE(copy.empty());
  copy = {1, 2};
  EXPECT_EQ(to_string(copy), "[1,2]");
  moved.erase(moved.begin());
  moved.insert(moved.begin() + 1, 99);
  EXPECT_EQ(moved[0], 1u);
  EXPECT_EQ(moved[1], 99u);
  EXPECT_EQ(moved.size(), 20u);
  EXPECT_THROW(moved.at(20), std::out_of_range);
}

TEST(Shape, NeverTrustsAProduct) {
  EXPECT_EQ(checked_element_count({}), 1u);
  EXPECT_EQ(checked_element_count({std::size_t{1} << 40, 0, std::size_t{1} << 40}), 0u);
  EXPECT_EQ(checked_element_count({std::size_t{1} << 40, std::size_t{1} << 40}), std::nullopt);
  EXPECT_EQ(checked_size_bytes(ElementType::kF64, {std::size_t{1} << 61}), std::nullopt);
  EXPECT_EQ(checked_size_bytes(ElementType::kU4, {3}), 2u);
}

TEST(Tensor, AllocatesAlignedAndDescribesItself) {
  Tensor tensor(element::f32, {2, 3});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  EXPECT_EQ(tensor.byte_strides(), (ByteStrides{12, 4}));
  EXPECT_EQ(tensor.size_bytes(), 24u);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(to_string(tensor), "f32 [2,3] in cpu");
  EXPECT_EQ(tensor.get_element_type(), element::f32);
}

TEST(Tensor, RefusesSizesThatOverflow) {
  EXPECT_THAT(error_of(
                  [] {
                    Tensor(element::f32, {std::size_t{1} << 40, std::size_t{1} << 40});
                  },
                  Code::kInvalidArgument),
              HasSubstr("[1099511627776,1099511627776]"));
  EXPECT_THAT(error_of([] { Tensor(element::u8, {std::size_t{1} << 50}); }, Code::kResourceExhausted),
              HasSubstr("bytes"));
}

TEST(Tensor, HandlesZeroSizedAndScalars) {
  Tensor empty(element::f32, {0, 3});
  EXPECT_EQ(empty.element_count(), 0u);
  EXPECT_TRUE(empty.is_contiguous());
  Tensor scalar(element::f32, Shape{});
  *scalar.data<float>() = 2;
  Tensor copy;
  scalar.copy_to(copy);
  EXPECT_EQ(*copy.data<float>(), 2);
  Tensor target;
  empty.copy_to(target);
  EXPECT_EQ(target.shape(), (Shape{0, 3}));
}

TEST(Tensor, DescribesMoreThan2To31Elements) {
  int anchor = 0;  // Described, never touched.
  const std::size_t count = (std::size_t{1} << 33) + 1;
  Tensor huge(element::u8, {count}, &anchor);
  EXPECT_EQ(huge.size_bytes(), count);
  EXPECT_EQ(huge.slice({count - 1}, {count}).offset(), count - 1);
}

TEST(Tensor, RegionSharesMemoryAndKeepsStrides) {
  Tensor whole = iota({4, 5, 3});
  Tensor region = whole.slice({1, 2, 0}, {3, 4, 3});
  EXPECT_EQ(region.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(region.byte_strides(), whole.byte_strides());
  EXPECT_FALSE(region.is_contiguous());
  EXPECT_EQ(*region.data<std::int32_t>(), 1 * 15 + 2 * 3);
  EXPECT_EQ(region.memory(), whole.memory());
  Tensor packed;
  region.copy_to(packed);
  EXPECT_EQ(std::vector<std::int32_t>(packed.data<std::int32_t>(), packed.data<std::int32_t>() + 12),
            (std::vector<std::int32_t>{21, 22, 23, 24, 25, 26, 36, 37, 38, 39, 40, 41}));
  EXPECT_THAT(error_of([&] { whole.slice({0, 0, 0}, {5, 1, 1}); }, Code::kOutOfRange), HasSubstr("axis 0"));
}

TEST(Tensor, ChecksTypesOfData) {
  Tensor tensor(element::f32, {1});
  EXPECT_THAT(error_of([&] { tensor.data<double>(); }, Code::kInvalidArgument), HasSubstr("64 bits"));
  EXPECT_THROW(tensor.data<std::int32_t>(), Error);
  EXPECT_NO_THROW(tensor.data<float>());
  error_of([] { Tensor().data(); }, Code::kFailedPrecondition);
}

TEST(Tensor, RefusesBadBorrows) {
  float value = 0;
  EXPECT_THAT(error_of([] { Tensor(element::f32, {1}, nullptr); }, Code::kInvalidArgument), HasSubstr("null"));
  EXPECT_THAT(error_of(
                  [&] {
                    Tensor(element::f32, {1}, &value, {4, 4});
                  },
                  Code::kInvalidArgument),
              HasSubstr("one per axis"));
  EXPECT_THAT(error_of([&] { Tensor(element::f32, {2}, &value, {-4}); }, Code::kInvalidArgument),
              HasSubstr("negative"));
  EXPECT_THAT(error_of([&] { Tensor(element::u4, {2}, &value, {1}); }, Code::kInvalidArgument),
              HasSubstr("below 8 bits"));
  EXPECT_THAT(error_of(
                  [&] {
                    Tensor({ElementType::kF32, {4}, {}}, HostMemory::borrow(&value, 4));
                  },
                  Code::kOutOfRange),
              HasSubstr("past the end"));
}

TEST(Tensor, LiesWithinItsMemoryToTheByte) {
  float values[8] = {};
  const auto lies = [&](std::size_t bytes, std::size_t offset, const ByteStrides& strides) {
    try {
      Tensor({ElementType::kF32, {2, 2}, strides}, HostMemory::borrow(values, bytes), offset);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kOutOfRange) << error.what();
      return false;
    }
  };
  EXPECT_TRUE(lies(16, 0, {}));
  EXPECT_FALSE(lies(15, 0, {}));
  EXPECT_TRUE(lies(24, 0, {16, 4})) << "nothing lies behind the last row";
  EXPECT_FALSE(lies(23, 0, {16, 4}));
  EXPECT_TRUE(lies(20, 0, {8, 8}));
  EXPECT_TRUE(lies(32, 16, {}));
  EXPECT_FALSE(lies(32, 20, {}));
  EXPECT_FALSE(lies(32, 36, {}));
}

TEST(Tensor, CopiesBetweenPackedAndStrided) {
  float gaps[7] = {-1, -1, -1, -1, -1, -1, -1}, packed[4] = {1, 2, 3, 4}, back[4] = {};
  const Tensor source(element::f32, {2, 2}, packed);
  Tensor rows(element::f32, {2, 2}, gaps, {16, 4}), again(element::f32, {2, 2}, back);
  source.copy_to(rows);
  EXPECT_THAT(gaps, ::testing::ElementsAre(1, 2, -1, -1, 3, 4, -1));
  rows.copy_to(again);
  EXPECT_THAT(back, ::testing::ElementsAre(1, 2, 3, 4));
  Tensor columns(element::f32, {2, 2}, gaps, {4, 12});
  source.copy_to(columns);
  EXPECT_THAT(gaps, ::testing::ElementsAre(1, 3, -1, 2, 4, 4, -1));
}

TEST(Tensor, SetShapeGrowsOwnMemoryOnly) {
  Tensor own(element::f32, {2});
  own.set_shape({100});
  EXPECT_EQ(own.size_bytes(), 400u);
  float buffer[4] = {};
  Tensor lent(element::f32, {4}, buffer);
  lent.set_shape({2, 2});
  EXPECT_EQ(lent.data(), buffer);
  EXPECT_THAT(error_of([&] { lent.set_shape({5}); }, Code::kOutOfRange), HasSubstr("Could set new shape: "));
}

TEST(StringTensor, HoldsObjectsThatAreCopiedOneByOne) {
  const std::string text = "a text that is too long for the object itself";
  Tensor words(element::string, {2, 3});
  EXPECT_EQ(words.data<std::string>()[5], "") << "strings begin empty";
  for (std::size_t i = 0; i < 6; ++i) words.data<std::string>()[i] = text + std::to_string(i);
  Tensor copy;
  words.copy_to(copy);
  words.data<std::string>()[4] = "changed";
  EXPECT_EQ(copy.data<std::string>()[4], text + "4");
  Tensor column;
  copy.slice({0, 1}, {2, 2}).copy_to(column);
  EXPECT_EQ(column.shape(), (Shape{2, 1}));
  EXPECT_EQ(column.data<std::string>()[1], text + "4");
  EXPECT_EQ(copy.reshaped({6}).data<std::string>()[5], text + "5");
  EXPECT_EQ(Tensor(TensorInfo{element::string, {2}, {}}, copy.memory()).data<std::string>()[0], text + "0");
  copy.set_shape({1});
  copy.set_shape({40});
  EXPECT_EQ(copy.data<std::string>()[39], "");
  std::string own[2] = {"x", text};
  EXPECT_EQ(Tensor(element::string, {2}, own).data<std::string>()[1], text);
}

TEST(StringTensor, IsRefusedWhereThereAreOnlyBytes) {
  for (const Ref<Memory>& bytes :
       {Ref<Memory>(SharedMemory::allocate(4096)), Ref<Memory>(HostMemory::allocate(4096))}) {
    const auto over_bytes = [&] { return Tensor(TensorInfo{element::string, {2}, {}}, bytes); };
    EXPECT_THAT(error_of(over_bytes, Code::kInvalidArgument), HasSubstr("strings are objects"));
  }
  const Tensor words(element::string, {2}), numbers(element::i64, {2});
  EXPECT_THAT(error_of([&] { words.data<std::int64_t>(); }, Code::kInvalidArgument), HasSubstr("string"));
  EXPECT_THAT(error_of([&] { numbers.data<std::string>(); }, Code::kInvalidArgument), HasSubstr("string"));
  EXPECT_FALSE(element::string.is_integral() || element::string.is_real());
  EXPECT_EQ(element_type_from_name("string"), ElementType::kString);
}

TEST(HostMemory, ReleasesOnceWhenTheLastTensorGoes) {
  int released = 0;
  int value = 0;
  {
    Tensor first({ElementType::kI32, {1}, {}}, HostMemory::borrow(&value, 4, false, [&] { ++released; }));
    Tensor second = first;
    first = Tensor();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(MapFile, MapsWithoutReading) {
  const std::string path = ::testing::TempDir() + "/tenon_map_" + std::to_string(platform::process_id());
  std::ofstream(path) << "weights";
  Tensor mapped = map_file(path);
  std::remove(path.c_str());
  EXPECT_EQ(std::string(mapped.data<char>(), mapped.size_bytes()), "weights");
  EXPECT_FALSE(mapped.is_writable());
  EXPECT_THAT(error_of([] { map_file("/no/such/file"); }, Code::kNotFound), HasSubstr("/no/such/file"));
  error_of([] { map_file(::testing::TempDir()); }, Code::kInvalidArgument);
}

TEST(Any, ConvertsNumbersAndText) {
  EXPECT_EQ(Any(3).as<double>(), 3.0);
  EXPECT_EQ(Any("17").as<int>(), 17);
  EXPECT_EQ(Any(true).as<std::string>(), "YES");
  EXPECT_TRUE(Any("YES").as<bool>());
  EXPECT_EQ((Any("1 2 3").as<std::vector<int>>()), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(Any(AnyMap{{"N", 5}}).to_text(), "{N:5}");
  EXPECT_THROW(Any("x").as<int>(), Error);
  EXPECT_THROW(Any(300).as<std::uint8_t>(), Error);
  EXPECT_THROW(Any(-1).as<unsigned>(), Error);
  EXPECT_THROW(Any().as<int>(), Error);
}

}  // namespace tensor_test
