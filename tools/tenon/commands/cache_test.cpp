// SPDX-License-Identifier: Apache-2.0
// tenon cache: the entries that it lists, reports as damaged, and removes.
#include <filesystem>
#include <fstream>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/core.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace commands_cache_test {

using nlohmann::json;

class CacheCommand : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    cached = file("cache");
    Core core;
    auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
    auto relu = std::make_shared<op::v0::Relu>(x->output(0));
    core.compile_model(std::make_shared<Model>(OutputVector{relu->output(0)}, ParameterVector{x}, "small"), "CPU",
                       cache_dir(cached));
  }
  std::string cached;
};

TEST_F(CacheCommand, ListsVerifiesAndClears) {
  const Outcome listed = tool("cache list --json '" + cached + "'");
  ASSERT_EQ(listed.status, 0) << listed.err;
  const json entries = json::parse(listed.out).at("entries");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].at("model"), "small");
  EXPECT_EQ(entries[0].at("device"), "CPU");
  EXPECT_EQ(entries[0].at("sound"), true);
  EXPECT_NE(tool("cache list '" + cached + "'").out.find("small"), std::string::npos);
  EXPECT_EQ(tool("cache verify '" + cached + "'").status, 0);

  const std::string entry = entries[0].at("file");
  fs::permissions(entry, fs::perms::owner_all);
  std::fstream(entry, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('?');
  const Outcome verified = tool("cache verify '" + cached + "'");
  EXPECT_EQ(verified.status, 1) << "an entry is damaged";
  EXPECT_NE(verified.out.find("hash"), std::string::npos) << verified.out;

  const Outcome cleared = tool("cache clear '" + cached + "'");
  EXPECT_EQ(cleared.status, 0);
  EXPECT_NE(cleared.out.find("1 entries removed"), std::string::npos) << cleared.out;
  EXPECT_TRUE(fs::is_empty(cached));
  EXPECT_EQ(tool("cache list /nowhere/at/all").status, 66);
  EXPECT_NE(tool("cache").status, 0);
}

}  // namespace commands_cache_test
}  // namespace tenon::tool::testing
