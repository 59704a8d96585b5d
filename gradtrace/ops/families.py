"""Map each operator name to the family that defines it, so that looking up a name imports only that family.

`FAMILIES` lists public names and record names, `METHODS` the attributes that families add to Tensor. Both are generated
by `python -m gradtrace.ops.generate`; run it after adding an operator. A name missing from the table is searched for in
every family, which is slow but correct.
"""

from __future__ import annotations

from importlib import import_module

from gradtrace.annotations import Iterable

_known: dict[str, list[str]] = {}


def of(name: str) -> list[str]:
    """Return the families that define a public name or a record name; an empty list if it is unknown."""
    if not _known:
        for family, names in FAMILIES.items():
            for one in names.split():
                _known.setdefault(one, []).append(family)
    return _known.get(name, [])


def load_for(name: str) -> None:
    """Import the families that define a name; do nothing if none does."""
    for family in of(name):
        import_module(f"gradtrace.ops.{family}")


def registered() -> dict[str, list[str]]:
    """Import all families and return the names that each registers. Call it only in a fresh process."""
    import sys

    from gradtrace import ops
    from gradtrace.engine import op

    names: dict[str, set[str]] = {}

    class Table(dict[str, object]):
        """A dict that replaces a table of `api` or of records and notes which family sets each name."""

        def __setitem__(self, name: str, value: object) -> None:
            frame = sys._getframe(1)
            while frame.f_code.co_name != "<module>" and frame.f_back is not None:
                frame = frame.f_back
            names.setdefault(frame.f_globals["__name__"].removeprefix("gradtrace.ops."), set()).add(name)
            super().__setitem__(name, value)

    for table in ("functions", "methods", "functional", "linalg", "special"):
        setattr(ops.api, table, Table(getattr(ops.api, table)))
    op.records = Table(op.records)  # type: ignore[assignment]
    for family in ops.LATER:
        before = on_tensor()
        import_module(f"gradtrace.ops.{family}")
        names.setdefault(family, set()).update((on_tensor() - before).difference(*names.values()))
    order = [*ops.LATER, *sorted({*names} - {*ops.LATER})]
    return {family: sorted(names[family]) for family in order if family in names}


def on_tensor() -> set[str]:
    """Return the names of Tensor's attributes that are not lazy placeholders."""
    from gradtrace.engine.tensor import Later, Tensor

    return {name for name, value in vars(Tensor).items() if not isinstance(value, Later)}


def write() -> None:
    """Regenerate the tables in this file."""
    from pathlib import Path
    from textwrap import fill

    def block(names: Iterable[str], indent: str) -> str:
        text = " ".join(names)
        if len(text) < 75:
            return f'"{text}"'
        filled = fill(text, 120, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        return f'"""\n{filled}\n{indent[4:]}"""'

    path = Path(__file__)
    head, mark, _ = path.read_text().partition("\nFAMILIES = {\n")
    at_once = on_tensor()
    lines = [f'    "{family}": {block(names, " " * 8)},\n' for family, names in registered().items()]
    methods = f"METHODS = {block(sorted(on_tensor() - at_once), '    ')}"
    path.write_text(f"{head}{mark}{''.join(lines)}}}\n\n{methods}\n")


FAMILIES = {
    "pointwise.remainders": """
        __imod__ __mod__ __rmod__ fmod fmod_ fmod_scalar remainder remainder_ remainder_of_number remainder_scalar
    """,
    "pointwise.trigonometric": """
        acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_
        arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ cos cos_ cosh cosh_ sin
        sin_ sinh sinh_ tan tan_ tanh tanh_ tanh_backward
    """,
    "pointwise.rounding": """
        __round__ ceil ceil_ fix fix_ floor floor_ frac frac_ round round_ round_to trunc trunc_
    """,
    "pointwise.bounds": """
        clamp clamp_ clamp_max clamp_max_ clamp_max_tensor clamp_min clamp_min_ clamp_min_tensor clamp_tensor clip clip_
        isfinite isinf isnan isneginf isposinf nan_to_num nan_to_num_ signbit
    """,
    "shape.views": """
        H T alias clone contiguous detach detach_ expand flatten mH mT moveaxis movedim permute ravel reshape
        reshape_alias reshape_as squeeze squeeze_ squeeze_all squeeze_dim squeeze_dims sum_to swapaxes swapaxes_
        swapdims swapdims_ t t_ transpose transpose_ unflatten unsafe_view unsqueeze unsqueeze_ view view_as
    """,
    "shape.expansion": """
        atleast_1d atleast_2d broadcast_shapes broadcast_tensors broadcast_to expand expand_as
    """,
    "index.records": """
        fit gather gather_place index index_place index_put index_rows index_select order_place scatter scatter_add
        scatter_value select select_place slice slice_place
    """,
    "shape.join": """
        cat chunk concat concatenate diagonal diagonal_place dstack flip hstack meshgrid narrow repeat repeat_interleave
        roll rot90 row_stack select split split_with_sizes stack tile tril tril_ triu triu_ unbind vstack
    """,
    "shape.flip_rotate": "flip fliplr flipud roll rot90",
    "index.gathering": """
        gather index_add index_add_ index_put index_put_ index_select mask_place masked_fill masked_fill_
        masked_fill_tensor masked_select nonzero one_hot put_flat scatter scatter_ scatter_add scatter_add_ scatter_by
        take where where_mixed
    """,
    "create.casts": """
        bool byte char copy_ cpu cuda double fill fill_ float half int long short to type type_as zero_
    """,
    "create.dtype_limits": "finfo iinfo",
    "create.promotion": "can_cast promote_types result_type",
    "create.ranges": "arange linspace logspace range",
    "reduce.sums": """
        all any count_nonzero mean mean_dim nanmean nansum on_diagonal prod prod_dim std std_mean sum sum_dim
        sum_to_size trace var var_mean
    """,
    "nn.softmax": """
        log_softmax log_softmax_backward logsumexp softmax softmax_backward softmin
    """,
    "reduce.extremes": """
        amax amin aminmax argmax argmin cummax cummin fill_where max max_dim median median_dim min min_dim mode
        nanmedian nanmedian_dim pick place place_chosen
    """,
    "linalg.matrix": """
        addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ bmm dot linear matmul mm mv vdot
    """,
    "nn.activation": """
        celu celu_ elu elu_ gelu glu hardshrink hardsigmoid hardswish hardtanh hardtanh_ leaky_relu leaky_relu_
        log_sigmoid logsigmoid mish prelu relu relu6 relu_ rrelu rrelu_ rrelu_middle selu selu_ silu softplus softshrink
        softsign tanhshrink threshold threshold_ times_array
    """,
    "nn.activation_backward": """
        elu_backward gelu_backward glu_backward hardshrink_backward hardsigmoid_backward hardswish_backward
        hardtanh_backward leaky_relu_backward log_sigmoid_backward prelu_input_backward prelu_weight_backward
        rrelu_backward rrelu_middle_backward softplus_backward softshrink_backward threshold_backward
    """,
    "nn.loss": """
        gaussian_nll_loss huber_loss huber_loss_backward kl_div l1_loss mse_loss mse_loss_backward poisson_nll_loss
        smooth_l1_loss smooth_l1_loss_backward soft_margin_loss soft_margin_loss_backward
    """,
    "nn.classification": "cross_entropy nll_loss nll_loss2d nll_loss2d_backward nll_loss_backward",
    "nn.binary_loss": """
        binary_cross_entropy binary_cross_entropy_backward binary_cross_entropy_with_logits
        binary_cross_entropy_with_pos_weight
    """,
    "nn.dropout": """
        alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout gumbel_softmax
    """,
    "nn.embedding": "embedding embedding_bag embedding_bag_max embedding_bag_sum embedding_rows",
    "nn.attention": """
        _scaled_dot_product_flash_attention_for_cpu_backward safe_softmax scaled_dot_product_attention
    """,
    "nn.distance": """
        bilinear bilinear_rows cosine_embedding_loss cosine_similarity norm_of normalize outer_sum pairwise_distance
        pdist pdist_backward renorm_ trilinear triplet_margin_loss triplet_margin_with_distance_loss
    """,
    "nn.margin": """
        hinge_embedding_loss margin_ranking_loss multi_margin_loss multi_margin_loss_backward multilabel_margin_loss
        multilabel_margin_loss_backward multilabel_soft_margin_loss
    """,
    "nn.conv": """
        conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution slide spread_back
        weigh
    """,
    "nn.layer_norm": """
        batch_norm batch_norm_fixed batch_norm_fixed_backward group_norm instance_norm layer_norm local_response_norm
        native_batch_norm native_batch_norm_backward native_group_norm native_layer_norm native_layer_norm_backward
        rms_norm
    """,
    "special.error_functions": """
        deg2rad deg2rad_ erf erf_ erfc erfc_ expit float_power float_power_ hypot hypot_ logaddexp rad2deg rad2deg_
        round xlogy xlogy_ xlogy_number xlogy_of_number
    """,
    "reduce.sorting": """
        allclose argsort equal is_floating_point is_inference is_nonzero is_tensor isclose numel sort sort_stable topk
    """,
    "random.generator": "Generator get_rng_state initial_seed manual_seed seed set_rng_state",
    "random.sampling": """
        multinomial normal rand rand_like randint randint_like randn randn_like randperm
    """,
    "random.fills": """
        bernoulli bernoulli_ bernoulli_each bernoulli_fill bernoulli_sample binomial binomial_sample cauchy cauchy_
        exponential exponential_ geometric geometric_ log_normal log_normal_ normal_ normal_fill poisson poisson_sample
        random_ random_any random_from_to random_to uniform uniform_
    """,
    "random.gamma": "dirichlet_sample standard_gamma_sample",
    "reduce.cumulative": """
        cumprod cumprod_ cumsum cumsum_ cumulative_trapezoid diff gradient logcumsumexp shift trapezoid trapz
    """,
    "linalg.vector_norm": "dist matrix_norm norm renorm vector_norm",
    "reduce.statistics": "corrcoef cov nanquantile quantile",
    "linalg.products": """
        addcdiv addcdiv_ addcmul addcmul_ cdist cdist_backward cross ger inner kron lerp lerp_ lerp_scalar outer
        tensordot
    """,
    "linalg.einsum": "einsum",
    "linalg.solve": """
        LinAlgError det inv inv_ex inverse logdet matmul slogdet solve solve_ex tensorinv tensorsolve
    """,
    "linalg.triangular": """
        cholesky cholesky_ex cholesky_inverse cholesky_solve solve_triangular triangular_solve
    """,
    "linalg.decompositions": "cond eigh eigvalsh lstsq matrix_rank pinv pinverse qr svd svdvals",
    "linalg.lu": "householder_product lu lu_factor lu_factor_ex lu_solve lu_unpack orgqr",
    "linalg.powers": "chain_matmul diagonal matrix_exp matrix_power multi_dot vander vecdot",
    "nn.pad": """
        constant_pad constant_pad_nd pad reflection_pad1d reflection_pad1d_back reflection_pad2d reflection_pad2d_back
        reflection_pad3d reflection_pad3d_back replication_pad1d replication_pad1d_back replication_pad2d
        replication_pad2d_back replication_pad3d replication_pad3d_back
    """,
    "nn.pool": """
        avg_pool1d avg_pool2d avg_pool2d_back avg_pool3d avg_pool3d_back max_pool1d max_pool1d_with_indices max_pool2d
        max_pool2d_back max_pool2d_with_indices max_pool3d max_pool3d_back max_pool3d_with_indices planes_put
        planes_take
    """,
    "nn.adaptive": """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool2d_back adaptive_avg_pool3d adaptive_avg_pool3d_back
        adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_back
        adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_back adaptive_max_pool3d_with_indices
    """,
    "nn.unpool": "lp_pool1d lp_pool2d lp_pool3d max_unpool1d max_unpool2d max_unpool3d",
    "nn.fold": "col2im fold im2col unfold",
    "nn.resample": """
        interpolate upsample upsample_bicubic2d upsample_bicubic2d_back upsample_bicubic2daa upsample_bicubic2daa_back
        upsample_bilinear upsample_bilinear2d upsample_bilinear2d_back upsample_bilinear2daa upsample_bilinear2daa_back
        upsample_lanczos2daa upsample_lanczos2daa_back upsample_linear1d upsample_linear1d_back upsample_nearest
        upsample_nearest1d upsample_nearest1d_back upsample_nearest2d upsample_nearest2d_back upsample_nearest3d
        upsample_nearest3d_back upsample_nearestexact1d upsample_nearestexact1d_back upsample_nearestexact2d
        upsample_nearestexact2d_back upsample_nearestexact3d upsample_nearestexact3d_back upsample_trilinear3d
        upsample_trilinear3d_back
    """,
    "nn.shuffle": "channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle",
    "nn.grid": """
        grid_pick grid_pick_back grid_sample grid_sampler grid_sampler_2d grid_sampler_3d
    """,
    "nn.affine": "affine_grid affine_grid_back affine_grid_generator",
    "shape.diagonals": """
        block_diag diag diag_embed diagflat diagonal_copy diagonal_scatter select_scatter slice_scatter
    """,
    "index.scatter": """
        index_copy index_copy_ index_fill index_fill_ index_fill_tensor index_reduce index_reduce_ masked_scatter
        masked_scatter_ put put_ scatter_reduce scatter_reduce_ take_along_dim
    """,
    "shape.combine": """
        atleast_3d cartesian_prod column_stack combinations dsplit hsplit msort positive tensor_split unfold
        unfold_place vsplit zero_
    """,
    "reduce.counting": """
        argwhere bincount bucketize histc histogram histogramdd isin kthvalue nonzero_static searchsorted tril_indices
        triu_indices unique unique2 unique_consecutive unravel_index
    """,
    "shape.memory": """
        as_strided as_strided_ as_strided_copy as_strided_place as_strided_take data_ptr fill_diagonal_ is_same_size
        is_set_to resize resize_ resize_as_ set_ storage storage_offset untyped_storage
    """,
    "create.legacy": """
        BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor
    """,
    "special.gamma": """
        digamma digamma_ gammaln lgamma lgamma_ multigammaln mvlgamma mvlgamma_ polygamma polygamma_ psi
    """,
    "pointwise.number_parts": """
        copysign copysign_ copysign_number frexp gcd gcd_ heaviside heaviside_ lcm lcm_ ldexp ldexp_ nextafter
        nextafter_
    """,
    "special.probability": """
        entr erfinv erfinv_ logaddexp2 logit logit_ sinc sinc_ xlog1py xlog1py_number xlog1py_of_number
    """,
    "special.normal_distribution": "erfcx log_ndtr ndtr ndtri",
    "special.gamma_incomplete": "gammainc gammaincc igamma igamma_ igammac igammac_ zeta",
    "special.bessel": """
        bessel_j0 bessel_j1 bessel_y0 bessel_y1 i0 i0_ i0e i1 i1e modified_bessel_i0 modified_bessel_i1
        modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0
    """,
    "special.signal_windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "nn.ctc": "_ctc_loss _ctc_loss_backward ctc_loss",
    "special.polynomials": """
        chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
        hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
        shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
    """,
    "fused": "point",
}

METHODS = """
    H T __imod__ __mod__ __rmod__ __round__ acos acos_ acosh acosh_ addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_
    addmm addmm_ addmv addmv_ addr addr_ all allclose amax amin aminmax any arccos arccos_ arccosh arccosh_ arcsin
    arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argmax argmin argsort argwhere as_strided
    as_strided_ asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ baddbmm baddbmm_ bernoulli bernoulli_
    bincount bmm bool broadcast_to byte cauchy_ ceil ceil_ char cholesky cholesky_inverse cholesky_solve chunk clamp
    clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone contiguous copy_ copysign copysign_ corrcoef cos
    cos_ cosh cosh_ count_nonzero cov cpu cross cuda cummax cummin cumprod cumprod_ cumsum cumsum_ data_ptr deg2rad
    deg2rad_ det detach detach_ diag diag_embed diagflat diagonal diagonal_scatter diff digamma digamma_ dist dot double
    dsplit equal erf erf_ erfc erfc_ erfinv erfinv_ expand expand_as exponential_ fill_ fill_diagonal_ fix fix_ flatten
    flip fliplr flipud float float_power float_power_ floor floor_ fmod fmod_ frac frac_ frexp gather gcd gcd_
    geometric_ ger half hardshrink heaviside heaviside_ histc histogram hsplit hypot hypot_ i0 i0_ igamma igamma_
    igammac igammac_ index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_
    index_reduce index_reduce_ index_select inner int inverse is_nonzero is_same_size is_set_to isclose isfinite isinf
    isnan isneginf isposinf kron kthvalue lcm lcm_ ldexp ldexp_ lerp lerp_ lgamma lgamma_ log_normal_ log_softmax
    logaddexp logaddexp2 logcumsumexp logdet logit logit_ logsumexp long lu lu_solve mH mT masked_fill masked_fill_
    masked_scatter masked_scatter_ masked_select matmul matrix_exp matrix_power max mean median min mm mode moveaxis
    movedim msort multinomial mv mvlgamma mvlgamma_ nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow
    nextafter nextafter_ nonzero nonzero_static norm normal_ orgqr outer permute pinverse polygamma polygamma_ positive
    prelu prod put put_ qr quantile rad2deg rad2deg_ random_ ravel remainder remainder_ renorm renorm_ repeat
    repeat_interleave reshape reshape_as resize resize_ resize_as_ roll rot90 round round_ scatter scatter_ scatter_add
    scatter_add_ scatter_reduce scatter_reduce_ select select_scatter set_ short signbit sin sin_ sinc sinc_ sinh sinh_
    slice_scatter slogdet softmax sort split split_with_sizes squeeze squeeze_ std storage storage_offset sum
    sum_to_size svd swapaxes swapaxes_ swapdims swapdims_ t t_ take take_along_dim tan tan_ tanh tanh_ tensor_split tile
    to topk trace transpose transpose_ triangular_solve tril tril_ triu triu_ trunc trunc_ type type_as unbind unflatten
    unfold uniform_ unique unique_consecutive unsqueeze unsqueeze_ untyped_storage var vdot view view_as vsplit where
    xlogy xlogy_ zero_
"""
