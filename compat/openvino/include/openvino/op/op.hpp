// SPDX-License-Identifier: Apache-2.0
// The base of operations.
#pragma once

#include "openvino/core/node.hpp"

/// The name and version of an operation's class.
#define OPENVINO_OP(...) OPENVINO_RTTI(__VA_ARGS__)
