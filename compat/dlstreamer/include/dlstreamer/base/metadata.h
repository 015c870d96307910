// SPDX-License-Identifier: Apache-2.0
// Metadata of its own.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dlstreamer/base/dictionary.h"
#include "dlstreamer/metadata.h"

namespace dlstreamer {

class BaseMetadata : public Metadata {
 public:
  using Metadata::erase;

  iterator begin() noexcept override { return _entries.begin(); }
  iterator end() noexcept override { return _entries.end(); }
  DictionaryPtr add(std::string_view name) override {
    return _entries.emplace_back(std::make_shared<BaseDictionary>(name));
  }
  /// One that lies elsewhere.
  void add(DictionaryPtr entry) { _entries.push_back(std::move(entry)); }
  iterator erase(iterator pos) override { return _entries.erase(pos); }
  void clear() noexcept override { _entries.clear(); }

 private:
  std::vector<DictionaryPtr> _entries;
};

}  // namespace dlstreamer
