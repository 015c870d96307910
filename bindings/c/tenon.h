/* SPDX-License-Identifier: Apache-2.0 */
/* Tenon C API: models run on devices, over tensors and frames that lie where the caller has them. Generated. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_TENON_H
#define TENON_BINDINGS_C_TENON_H

#include <tenon/bindings/c/base.h>
#include <tenon/bindings/c/properties.h>
#include <tenon/bindings/c/shape.h>
#include <tenon/bindings/c/tensor.h>
#include <tenon/bindings/c/frame.h>
#include <tenon/bindings/c/model.h>
#include <tenon/bindings/c/context.h>
#include <tenon/bindings/c/ledger.h>
#include <tenon/bindings/c/state.h>
#include <tenon/bindings/c/request.h>
#include <tenon/bindings/c/compiled_model.h>
#include <tenon/bindings/c/core.h>
#include <tenon/bindings/c/preprocess.h>
#include <tenon/bindings/c/element.h>
#include <tenon/bindings/c/pipeline.h>

#endif
