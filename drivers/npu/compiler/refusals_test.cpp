// SPDX-License-Identifier: Apache-2.0
// The list of refused operations: what it refuses, and what is said of a wrong one.
#include <fstream>

#include <gmock/gmock.h>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/refusals.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::npu::compiler {
namespace refusals_test {

using ::testing::HasSubstr;

class RefusalsTest : public ::testing::Test {
 protected:
  Refusals read(const std::string& text) {
    std::ofstream(file_) << text;
    return Refusals(file_);
  }
  std::string mistake_in(const std::string& text) {
    try {
      read(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "refused.txt";
};

TEST_F(RefusalsTest, OperationsAreRefusedByTypeAndElementType) {
  const op::v0::Parameter x(element::f32, PartialShape{1, 4});
  const op::v0::Parameter half(element::f16, PartialShape{1, 4});
  EXPECT_FALSE(read("").refuses(x));
  EXPECT_TRUE(read("# nothing else\n\n  Parameter  # all of them\n").refuses(x));
  const Refusals of_half = read("Softmax\nParameter FP16");
  EXPECT_FALSE(of_half.refuses(x));
  EXPECT_TRUE(of_half.refuses(half));
  EXPECT_NE(of_half.text(), read("Softmax").text());
  EXPECT_EQ(read("Softmax # one").text(), read("\nSoftmax").text());
}

TEST_F(RefusalsTest, AWrongListSaysWhere) {
  EXPECT_THAT(mistake_in("Softmax\nSofmax\n"), HasSubstr("refused.txt:2: 'Sofmax' is no operation"));
  EXPECT_THAT(mistake_in("Softmax f17"), HasSubstr("refused.txt:1: 'f17' is no element type"));
  EXPECT_THAT(mistake_in("Softmax f16 please"), HasSubstr("'please' is too much"));
  EXPECT_THROW(Refusals("/nonexistent/list"), Error);
}

}  // namespace refusals_test
}  // namespace tenon::npu::compiler
