// SPDX-License-Identifier: Apache-2.0
// States of models.
#pragma once

#include "openvino/op/util/attr_types.hpp"
