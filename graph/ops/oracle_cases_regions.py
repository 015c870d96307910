#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of oracle_cases.py: signals, rearrangement of places, embeddings, regions, proposals and suppression."""
import numpy as np
from openvino import opset1, opset2, opset3, opset4, opset6, opset7, opset8, opset9, opset13, opset14, opset15, opset16

from oracle_recorder import F, attempt, f, i, raw, rng


def signals():
    for label, axes, shape in (("last", [1], (2, 7, 2)), ("two", [1, 2], (2, 6, 5, 2)), ("turned", [-1, 0], (4, 3, 8, 2))):
        for sizes in ([], [4] * len(axes), [12] * len(axes)):
            more, constants = ([np.array(sizes, np.int64)], (1, 2)) if sizes else ([], (1,))
            for name in ("dft", "idft"):
                attempt(f"{name} {label} {sizes}", [f(*shape), np.array(axes, np.int64)] + more, lambda *a, fn=getattr(opset7, name): fn(*a), constants=constants)
            if 12 in sizes:
                continue  # The plugin refuses to lengthen, or reads what is not there.
            attempt(f"rdft {label} {sizes}", [f(*shape[:-1]), np.array(axes, np.int64)] + more, lambda *a: opset9.rdft(*a), constants=constants)
            attempt(f"irdft {label} {sizes}", [f(*shape), np.array(axes, np.int64)] + more, lambda *a: opset9.irdft(*a), constants=constants, tolerance=1e-3)
    for turned in (False, True):
        for shape in ((40,), (2, 40)):
            attempt(f"stft {shape} {turned}", [f(*shape), np.hanning(8).astype(F), np.array(11, np.int64), np.array(3, np.int64)], lambda a, b, c, d, t=turned: opset15.stft(a, b, c, d, t), constants=(2, 3))
    for centre in (False, True):
        for normal in (False, True):
            for length in ([], [np.array(30, np.int64)]):
                attempt(f"istft {centre} {normal} {len(length)}", [f(2, 6, 9, 2), np.hamming(8).astype(F), np.array(10, np.int64), np.array(4, np.int64)] + length,
                        lambda *a, c=centre, n=normal: opset16.istft(a[0], a[1], a[2], a[3], c, n, *a[4:]), constants=tuple(range(2, 4 + len(length))), tolerance=1e-3)


def spaces():
    corner = lambda *v: np.array(v, np.int64)
    attempt("batch to space", [f(12, 2, 3, 4), corner(1, 1, 2, 3), corner(0, 0, 1, 0), corner(0, 0, 0, 2)], lambda *a: opset2.batch_to_space(*a), constants=(1, 2, 3))
    attempt("batch to space u8", [i(4, 1, 3, 2, low=0, high=99, t=np.uint8), corner(1, 1, 2, 2), corner(0, 0, 0, 0), corner(0, 0, 0, 0)], lambda *a: opset2.batch_to_space(*a), constants=(1, 2, 3))
    attempt("space to batch", [f(2, 2, 3, 4), corner(1, 1, 2, 3), corner(0, 0, 1, 0), corner(0, 0, 0, 2)], lambda *a: opset2.space_to_batch(*a), constants=(1, 2, 3))
    for mode in ("VALID", "SAME_UPPER", "SAME_LOWER"):
        attempt("patches " + mode, [f(2, 3, 9, 10)], lambda a, m=mode: opset3.extract_image_patches(a, [3, 2], [2, 3], [2, 1], m))
    attempt("reverse index", [f(2, 3, 4), corner(-1, 0)], lambda a, b: raw("opset1", "Reverse", [a, b], dict(mode="index")), constants=(1,))
    attempt("reverse mask", [f(2, 3, 4), np.array([False, True, True])], lambda a, b: raw("opset1", "Reverse", [a, b], dict(mode="mask")), constants=(1,))
    attempt("slice scatter", [f(5, 6, 4), f(2, 6, 2), corner(3, 0), corner(0, 4), corner(-2, 2), corner(0, 2)], lambda *a: opset15.slice_scatter(*a), constants=(2, 3, 4, 5))
    attempt("slice scatter all axes", [f(5, 6), f(4, 2), corner(1, -4), corner(9, -2), corner(1, 1)], lambda *a: opset15.slice_scatter(*a), constants=(2, 3, 4))
    for right in (False, True):
        attempt(f"search sorted {right}", [np.sort(i(2, 8), axis=1), i(2, 5)], lambda a, b, r=right: opset15.search_sorted(a, b, r))
        attempt(f"search sorted one {right}", [np.sort(f(8)), f(3, 5)], lambda a, b, r=right: opset15.search_sorted(a, b, r))
        attempt(f"bucketize {right}", [i(3, 5).astype(F), np.array([-4, 0, 3, 3, 7], F)], lambda a, b, r=right: opset3.bucketize(a, b, "i32", r))
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                attempt(f"grid sample {mode} {padding} {corners}", [f(2, 3, 5, 6), f(2, 4, 3, 2, low=-1.6, high=1.6)],
                        lambda a, b, k=dict(align_corners=corners, mode=mode, padding_mode=padding): opset9.grid_sample(a, b, k), tolerance=1e-3)
    attempt("adaptive max pool", [f(2, 3, 7, 5), corner(3, 2)], lambda a, b: opset8.adaptive_max_pool(a, b, "i32"), constants=(1,))
    attempt("adaptive max pool 1d", [f(2, 3, 7), corner(4)], lambda a, b: opset8.adaptive_max_pool(a, b, "i32"), constants=(1,))


def sums():
    for equation, shapes in {"ij,jk->ik": [(2, 3), (3, 4)], "bij,bjk->bki": [(2, 3, 4), (2, 4, 5)], "ij->": [(3, 4)], "ii->i": [(4, 4)], "ab...,bc...->ac...": [(2, 3, 4), (3, 5, 4)], "i,j": [(3,), (4,)],
                             "abc,cd,de->abe": [(2, 3, 4), (4, 5), (5, 2)], "...ij->...ji": [(2, 3, 4)]}.items():
        attempt("einsum " + equation, [f(*shape) for shape in shapes], lambda *a, e=equation: opset7.einsum(list(a), e), tolerance=1e-3)
    square = f(2, 4, 4) + 3 * np.eye(4, dtype=F)
    for adjoint in (False, True):
        attempt(f"inverse {adjoint}", [square], lambda a, d=adjoint: opset14.inverse(a, d), tolerance=1e-3)
    attempt("grn", [f(2, 3, 4, 5)], lambda a: opset1.grn(a, 0.3))
    steps, parents = i(6, 2, 3, low=1, high=9, t=np.int32), i(6, 2, 3, low=0, high=3, t=np.int32)
    attempt("gather tree", [steps, parents, np.array([6, 4], np.int32), np.array(5, np.int32)], lambda *a: opset1.gather_tree(*a))
    logits, mask = f(7, 2, 4), np.ones((7, 2), F)
    mask[5:, 1] = 0
    for merge in (False, True):
        attempt(f"ctc greedy {merge}", [logits, mask], lambda a, b, m=merge: opset1.ctc_greedy_decoder(a, b, m))
        attempt(f"ctc greedy lengths {merge}", [f(2, 7, 4), np.array([7, 5], np.int32)], lambda a, b, m=merge: opset6.ctc_greedy_decoder_seq_len(a, b, None, m))
    attempt("ctc greedy blank", [f(2, 7, 4), np.array([7, 5], np.int32), np.array([1], np.int32)], lambda a, b, c: opset6.ctc_greedy_decoder_seq_len(a, b, c, True))


def embeddings():
    rows, indices, offsets = f(6, 3), np.array([0, 2, 5, 1, 4], np.int64), np.array([0, 2, 2], np.int64)
    attempt("bag offsets", [rows, indices, offsets], lambda *a: opset3.embedding_bag_offsets_sum(*a))
    attempt("bag offsets default", [rows, indices, offsets, np.array(3, np.int64)], lambda *a: opset3.embedding_bag_offsets_sum(*a))
    attempt("bag offsets weights", [rows, indices, offsets, np.array(3, np.int64), f(5)], lambda *a: opset3.embedding_bag_offsets_sum(*a))
    attempt("bag packed", [rows, indices[:4].reshape(2, 2)], lambda *a: opset3.embedding_bag_packed_sum(*a))
    attempt("bag packed weights", [rows, indices[:4].reshape(2, 2), f(2, 2)], lambda *a: opset3.embedding_bag_packed_sum(*a))
    for kind in ("sum", "mean"):
        attempt("bag offsets 15 " + kind, [rows, indices, offsets], lambda *a, k=kind: raw("opset15", "EmbeddingBagOffsets", list(a), dict(reduction=k)))
        attempt("bag packed 15 " + kind, [rows, indices[:4].reshape(2, 2)], lambda *a, k=kind: raw("opset15", "EmbeddingBagPacked", list(a), dict(reduction=k)))
    attempt("segments", [rows, indices, np.array([0, 0, 2, 2, 3], np.int64), np.array(5, np.int64)], lambda *a: opset3.embedding_segments_sum(*a), constants=(3,))
    attempt("segments default", [rows, indices, np.array([0, 0, 2, 2, 3], np.int64), np.array(5, np.int64), np.array(1, np.int64), f(5)], lambda *a: opset3.embedding_segments_sum(*a), constants=(3,))
    for fill in ("ZERO", "LOWEST"):
        attempt("segment max " + fill, [rows, np.array([0, 0, 2, 2, 3, 3], np.int64), np.array(5, np.int64)], lambda *a, k=fill: opset16.segment_max(*a, k), constants=(2,))
    attempt("fill empty rows", [f(3), np.array([5, 4], np.int64), np.array([[1, 0], [1, 3], [3, 2]], np.int64), np.array(9, F)], lambda *a: opset16.sparse_fill_empty_rows(*a))


def regions():
    boxes = np.array([[0, 1, 2, 9, 8], [1, 4, 0, 13, 15], [0, 0, 0, 3, 3]], F)
    attempt("roi pooling max", [f(2, 3, 8, 8), boxes], lambda a, b: opset2.roi_pooling(a, b, [3, 2], 0.5, "max"))
    parts = boxes.copy()
    parts[:, 1:] /= 16
    attempt("roi pooling bilinear", [f(2, 3, 8, 8), parts], lambda a, b: opset2.roi_pooling(a, b, [3, 2], 1.0, "bilinear"))
    attempt("roi pooling bilinear one", [f(2, 3, 8, 8), parts], lambda a, b: opset2.roi_pooling(a, b, [1, 1], 1.0, "bilinear"))
    attempt("psroi average", [f(2, 18, 8, 8), boxes], lambda a, b: opset1.psroi_pooling(a, b, 2, 3, 0.5, 1, 1, "average"))
    attempt("psroi bilinear", [f(2, 12, 8, 8), parts], lambda a, b: opset1.psroi_pooling(a, b, 2, 3, 1.0, 3, 2, "bilinear"))
    attempt("deformable psroi", [f(2, 18, 8, 8), boxes], lambda a, b: opset1.deformable_psroi_pooling(a, b, 2, 0.5, 3, "bilinear_deformable", 2, 2, 0.1, 3))
    attempt("deformable psroi shifted", [f(2, 18, 8, 8), boxes, f(3, 2, 3, 3)], lambda a, b, c: opset1.deformable_psroi_pooling(a, b, 2, 0.5, 3, "bilinear_deformable", 2, 2, 0.1, 3, c))


def rotated_and_narrow():
    rois = np.array([[6, 7, 8, 4, 0.5], [9, 5, 3, 6, -1.2], [4, 4, 6, 6, 0]], F)
    for clockwise in (False, True):
        for ratio in (2, 0):
            attempt(f"roi align rotated {clockwise} {ratio}", [f(2, 3, 8, 8), rois, np.array([0, 1, 1], np.int64)],
                    lambda a, b, c, k=clockwise, r=ratio: opset15.roi_align_rotated(a, b, c, 3, 2, r, 0.5, k), tolerance=1e-3)
    data = f(2, 3, 4, low=-50, high=50).astype(np.float16).astype(F)
    for kind in ("f8e4m3", "f8e5m2"):
        attempt("fake convert " + kind, [data, np.array(2, F)], lambda a, b, k=kind: opset13.fake_convert(a, b, None, k))
        attempt("fake convert shifted " + kind, [data, np.array([[1], [2], [4]], F), np.array([[0.5], [1], [0]], F)], lambda a, b, c, k=kind: opset13.fake_convert(a, b, c, k))


def suppressions():
    corner = np.sort(rng.uniform(0, 10, (2, 12, 2, 2)), axis=2).reshape(2, 12, 4).astype(F)
    scores = (rng.permutation(2 * 3 * 12).reshape(2, 3, 12) / 72).astype(F)
    for label, more in {"score": dict(sort_result_type="score"), "class": dict(sort_result_type="classid"), "across": dict(sort_result_type="score", sort_result_across_batch=True),
                        "class across": dict(sort_result_type="classid", sort_result_across_batch=True), "few": dict(sort_result_type="score", nms_top_k=5, keep_top_k=7),
                        "background": dict(sort_result_type="score", background_class=1), "pixels": dict(sort_result_type="score", normalized=False), "unsorted": dict()}.items():
        attempt("multiclass nms " + label, [corner, scores], lambda a, b, k=dict(iou_threshold=0.2, score_threshold=0.3) | more: opset9.multiclass_nms(a, b, **k))
        attempt("multiclass nms 8 " + label, [corner, scores], lambda a, b, k=dict(iou_threshold=0.2, score_threshold=0.3) | more: opset8.multiclass_nms(a, b, **k))
        attempt("matrix nms " + label, [corner, scores], lambda a, b, k=dict(score_threshold=0.3) | more: opset8.matrix_nms(a, b, **k))
    attempt("multiclass nms eta", [corner, scores], lambda a, b: opset9.multiclass_nms(a, b, sort_result_type="score", iou_threshold=0.6, nms_eta=0.7))
    attempt("multiclass nms shared", [np.tile(corner[:1], (3, 1, 1)), scores[0], np.array([7, 5], np.int64)], lambda a, b, c: opset9.multiclass_nms(a, b, c, sort_result_type="score", iou_threshold=0.2))
    attempt("matrix nms gaussian", [corner, scores], lambda a, b: opset8.matrix_nms(a, b, sort_result_type="score", decay_function="gaussian", gaussian_sigma=1.5, post_threshold=0.2))
    attempt("nms rotated", [np.concatenate([f(2, 8, 2, low=0, high=6), f(2, 8, 2, low=2, high=5), f(2, 8, 1, low=-3, high=3)], axis=2), (rng.permutation(48).reshape(2, 3, 8) / 48).astype(F),
                            np.array(4, np.int64), np.array(0.3, F), np.array(0.2, F)], lambda *a: opset13.nms_rotated(*a), constants=(2, 3, 4))
    for opset, module in ((1, opset1), (3, opset3), (4, opset4)):
        attempt(f"nms {opset}", [corner, scores, np.array(4, np.int64), np.array(0.3, F), np.array(0.2, F)], lambda *a, m=module: m.non_max_suppression(*a), constants=(2, 3, 4))


def proposals():
    anchors = 4
    common = dict(base_size=8, pre_nms_topn=40, post_nms_topn=10, nms_thresh=0.5, feat_stride=8, min_size=2, ratio=[0.5, 2.0], scale=[1.0, 2.5])
    scores = (rng.permutation(2 * 2 * anchors * 20).reshape(2, 2 * anchors, 4, 5) / 320).astype(F)
    deltas = f(2, 4 * anchors, 4, 5, low=-0.5, high=0.5)
    for label, more in {"plain": {}, "clipped": dict(clip_before_nms=False, clip_after_nms=True), "normal": dict(normalize=True), "tensorflow": dict(framework="tensorflow"),
                        "scaled": dict(box_size_scale=5.0, box_coordinate_scale=10.0)}.items():
        attempt("proposal " + label, [scores[:1], deltas[:1], np.array([32, 40, 1], F)], lambda *a, k=common | more: raw("opset4", "Proposal", list(a), k), tolerance=1e-3)
        attempt("proposal 1 " + label, [scores[:1], deltas[:1], np.array([32, 40, 1], F)], lambda *a, k=common | more: raw("opset1", "Proposal", list(a), k), tolerance=1e-3)
    attempt("proposal batch", [scores, deltas, np.array([32, 40, 1], F)], lambda *a: raw("opset4", "Proposal", list(a), common), tolerance=1e-3)
    corner = np.sort(rng.uniform(0, 40, (4, 5, 3, 2, 2)), axis=3).reshape(4, 5, 3, 4).astype(F)
    info = np.array([[32, 40, 1], [30, 38, 1]], F)
    for label, more in {"plain": {}, "pixels": dict(normalized=False), "few": dict(nms_threshold=0.1, post_nms_count=30), "large": dict(min_size=9.0)}.items():
        attributes = dict(min_size=1.0, nms_threshold=0.6, pre_nms_count=40, post_nms_count=12, roi_num_type="i64") | more
        own = (rng.permutation(2 * 3 * 20).reshape(2, 3, 4, 5) / 120 + 0.01).astype(F)
        attempt("generate proposals " + label, [info, corner, f(2, 12, 4, 5, low=-0.5, high=0.5), own], lambda *a, k=attributes: raw("opset9", "GenerateProposals", list(a), k), tolerance=1e-3)
        if label != "pixels":
            single = {k: v for k, v in attributes.items() if k != "roi_num_type"}
            attempt("detectron proposals " + label, [info[0], corner.reshape(-1, 4), f(12, 4, 5, low=-0.5, high=0.5), own[0]],
                    lambda *a, k=single: raw("opset6", "ExperimentalDetectronGenerateProposalsSingleImage", list(a), k), tolerance=1e-3)
    for label, more in {"flat": {}, "tall": dict(flatten=False), "given": dict(h=4, w=5, stride_x=4.0, stride_y=8.0)}.items():
        attempt("detectron priors " + label, [f(3, 4), f(1, 2, 4, 5), f(1, 3, 32, 40)], lambda *a, k=dict(flatten=True, h=0, w=0, stride_x=0.0, stride_y=0.0) | more:
                raw("opset6", "ExperimentalDetectronPriorGridGenerator", list(a), k))
    attempt("detectron top rois", [f(9, 4), rng.permutation(9).astype(F)], lambda *a: raw("opset6", "ExperimentalDetectronTopKROIs", list(a), dict(max_rois=5)))
    boxes = np.array([[2, 3, 30, 25], [0, 0, 250, 240], [10, 20, 500, 600], [5, 5, 6, 6]], F)
    for aligned in (False, True):
        for ratio in (2, 0):
            attempt(f"detectron extractor {aligned} {ratio}", [boxes, f(1, 3, 64, 64), f(1, 3, 32, 32), f(1, 3, 16, 16)], lambda *a, k=dict(output_size=3, sampling_ratio=ratio, pyramid_scales=[4, 8, 16], aligned=aligned):
                    raw("opset6", "ExperimentalDetectronROIFeatureExtractor", list(a), k), tolerance=1e-3)
    regions = np.sort(rng.uniform(0, 40, (10, 2, 2)), axis=1).reshape(10, 4).astype(F)
    attempt("detectron output", [regions, f(10, 12, low=-1, high=1), (rng.permutation(30).reshape(10, 3) / 30).astype(F), np.array([[32, 40, 1]], F)], lambda *a: raw(
        "opset6", "ExperimentalDetectronDetectionOutput", list(a), dict(score_threshold=0.3, nms_threshold=0.4, max_delta_log_wh=4.1, num_classes=3, post_nms_count=6, max_detections_per_image=9,
                                                                        class_agnostic_box_regression=False, deltas_weights=[10.0, 10.0, 5.0, 5.0])), tolerance=1e-3)


GROUPS = [rotated_and_narrow, proposals, signals, spaces, sums, embeddings, regions, suppressions]
