// SPDX-License-Identifier: Apache-2.0
// State exists once per process, whichever module loads core and how.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/router.hpp>

#include <tenon/tests/dlopen_state/state.hpp>

namespace dlopen_state_test {

using namespace tenon;
using dlopen_state::Module;

/// Loaded once and never unloaded, since plugins' classes may live on.
const std::vector<const Module*>& modules() {
  static const std::vector<const Module*> loaded = [] {
    std::vector<const Module*> all;
    const char* list = std::getenv("TENON_STATE_MODULES");
    std::istringstream paths(list ? list : "");
    for (std::string path; std::getline(paths, path, platform::kFolderSeparator);) {
      std::string why;
      void* handle = platform::load_module(path, false, why);
      EXPECT_NE(handle, nullptr) << why;
      if (!handle) continue;
      const auto entry = reinterpret_cast<const Module* (*)()>(platform::symbol_of(handle, "tenon_state_module"));
      EXPECT_NE(entry, nullptr) << path;
      if (entry) all.push_back(entry());
    }
    return all;
  }();
  return loaded;
}

TEST(DlopenState, LoadsItsModules) {
  ASSERT_GE(modules().size(), 2u) << "TENON_STATE_MODULES names the modules; ctest sets it";
  EXPECT_NE(modules()[0]->process_ledger, modules()[1]->process_ledger) << "one module twice proves nothing";
}

TEST(DlopenState, OneLedger) {
  for (const Module* module : modules()) EXPECT_EQ(module->process_ledger(), &Ledger::process()) << module->name;
  modules()[0]->process_ledger()->book_copied(modules()[0]->edge_id("dlopen->state"), 123);
  std::uint64_t seen = 0;
  for (const LedgerEntry& entry : Ledger::process().snapshot()) {
    if (entry.name == "dlopen->state") seen = entry.copied;
  }
  EXPECT_EQ(seen, 123u);
}

TEST(DlopenState, OneNumberPerEdgeName) {
  const EdgeId id = register_edge("state edge");
  for (const Module* module : modules()) EXPECT_EQ(module->edge_id("state edge"), id) << module->name;
  const EdgeId theirs = modules()[1]->edge_id("first named there");
  EXPECT_EQ(register_edge("first named there"), theirs);
  EXPECT_EQ(edge_name(theirs), "first named there");
}

TEST(DlopenState, OneHostContext) {
  for (const Module* module : modules()) EXPECT_EQ(module->host(), host_context()) << module->name;
}

TEST(DlopenState, OneProcessWideObject) {
  auto& mine = process_wide<dlopen_state::Shared>("dlopen_state::Shared");
  for (const Module* module : modules()) EXPECT_EQ(module->shared(), &mine) << module->name;
  EXPECT_NE(&process_wide<dlopen_state::Shared>("another name"), &mine);
}

TEST(DlopenState, ContextIdsAreNeverGivenTwice) {
  std::set<std::uint64_t> ids;
  std::size_t made = 0;
  for (int i = 0; i < 3; ++i) {
    for (const Module* module : modules()) ids.insert(module->fresh_context_id()), ++made;
  }
  EXPECT_EQ(ids.size(), made);
}

TEST(DlopenState, ErrorsAreCaughtAcrossModules) {
  for (const Module* thrower : modules()) {
    for (const Module* catcher : modules())
      EXPECT_TRUE(catcher->catches(thrower->throw_error)) << thrower->name << " to " << catcher->name;
    try {
      thrower->throw_error();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDataLoss);
      EXPECT_NE(std::string(error.what()).find(thrower->name), std::string::npos);
    }
  }
}

TEST(DlopenState, ContextsAreRecognisedAcrossModules) {
  for (const Module* maker : modules()) {
    const Context context = maker->make_context();
    for (const Module* asker : modules()) {
      const char* owner = asker->owner_of(context);
      ASSERT_NE(owner, nullptr) << asker->name << " does not recognise the class of " << maker->name;
      EXPECT_STREQ(owner, maker->name);
    }
    const auto* here = context.as<dlopen_state::StateContext>();
    ASSERT_NE(here, nullptr) << maker->name;
    EXPECT_TRUE(context->kind() == dlopen_state::kStateKind);
    EXPECT_EQ(modules()[0]->owner_of(host_context()), nullptr) << "another class passed for it";
  }
}

TEST(DlopenState, TensorsTravelBetweenModules) {
  for (const Module* module : modules()) {
    const Tensor tensor = module->make_tensor(7);
    EXPECT_EQ(tensor.context(), host_context());
    EXPECT_EQ(tensor.data<std::uint8_t>()[63], 7);
    Tensor copy;
    tensor.copy_to(copy);
    EXPECT_EQ(copy.data<std::uint8_t>()[0], 7);
  }
}

}  // namespace dlopen_state_test
