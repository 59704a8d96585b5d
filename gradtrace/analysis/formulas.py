"""The notation of formulas, and the formulas of functions that are composed of several operators.

A formula uses Python's syntax, so that it can be evaluated:

    1 / (1 + exp(-self))                           the result, in terms of the arguments
    out[i, j] = sum[k](self[i, k] * mat2[k, j])    each element of the result; the index of a sum in brackets
    sum[i](self[..., i, ...])                      i goes along the argument `dim`; n is its size
    out[..., i, ...] = sum[k, 0, i](...)           an index with its bounds; also of prod, max, min and integral
    erf(out) == self                               a condition that the result fulfils
    log(z / (1 - z)); z = self                     further equations and conditions after a semicolon
    out[i] ~ Normal(mean, std**2)                  a distribution
    d[x](f), d[x, n](f)                            a derivative, and the n-th one
    T(A), inverse(A), A @ B, flat(A)[i]            transpose, inverse, matrix product, element in
                                                   memory order
    reduction[i](...)                              the mean, the sum or each one, as the argument
                                                   `reduction` says

An operator's record has its formula (`Op.formula`). The table in this module has the functions
without a record.
"""

from __future__ import annotations

from gradtrace.engine.operators.tables import function_table
from gradtrace.lazy_names import words

WINDOW_ANGLE = "t = 2 * pi * i / N; N = window_length if periodic else window_length - 1"
INPUT = "input[..., i, ...]"

FORMULAS: dict[str, str] = function_table(
    "analysis.formulas.FORMULAS",
    {
        # elementwise
        "arctan2": "2 * atan(input / (sqrt(input**2 + other**2) + other))",
        "clip": "minimum(maximum(input, min), max)",
        "divide": "input / other",
        "true_divide": "input / other",
        "expit": "1 / (1 + exp(-input))",
        "float_power": "input**exponent",
        "gammaln": "log(abs(gamma(input)))",
        "isclose": "1 if abs(input - other) <= atol + rtol * abs(other) else 0",
        "logsigmoid": "-log(1 + exp(-input))",
        "positive": "input",
        "psi": "d[input](log(gamma(input)))",
        "relu6": "min(max(input, 0), 6)",
        "selu": "1.0507 * where(input > 0, input, 1.67326 * (exp(input) - 1))",
        "softsign": "input / (1 + abs(input))",
        "square": "input**2",
        "subtract": "input - alpha * other",
        "tanhshrink": "input - tanh(input)",
        "xlogy": "where(input == 0, 0, input * log(other))",
        # other dtypes
        "copy_": "src",
        "zero_": "0",
        "bool": "1 if self != 0 else 0",
        **dict.fromkeys(("byte", "char", "short", "int", "long"), "trunc(self)"),
        **dict.fromkeys(("half", "float", "double", "to", "type", "type_as", "detach"), "self"),
        # numbers in the shape of others, and created ones
        "arange": "out[i] = start + step * i",
        "range": "out[i] = start + step * i",
        "linspace": "out[i] = start + (end - start) * i / (steps - 1)",
        "logspace": "out[i] = base**(start + (end - start) * i / (steps - 1))",
        "eye": "out[i, j] = 1 if i == j else 0",
        "full": "out[i] = fill_value",
        "full_like": "out[i] = fill_value",
        "new_full": "out[i] = fill_value",
        "ones": "out[i] = 1",
        "new_ones": "out[i] = 1",
        "zeros": "out[i] = 0",
        "new_zeros": "out[i] = 0",
        "one_hot": "out[i, j] = 1 if input[i] == j else 0",
        "vander": "out[i, j] = x[i]**j if increasing else x[i]**(N - 1 - j)",
        "tril_indices": "out[1, k] - out[0, k] <= offset",
        "triu_indices": "out[1, k] - out[0, k] >= offset",
        "bartlett_window": f"1 - abs(t / pi - 1); {WINDOW_ANGLE}",
        "blackman_window": f"0.42 - 0.5 * cos(t) + 0.08 * cos(2 * t); {WINDOW_ANGLE}",
        "hamming_window": f"alpha - beta * cos(t); {WINDOW_ANGLE}",
        "hann_window": f"(1 - cos(t)) / 2; {WINDOW_ANGLE}",
        "kaiser_window": f"i0(beta * sqrt(1 - (t / pi - 1)**2)) / i0(beta); {WINDOW_ANGLE}",
        # random numbers
        "alpha_dropout": "a * where(m, input, -1.7581) + b; m[i] ~ Bernoulli(1 - p)",
        "feature_alpha_dropout": "a * where(m, input, -1.7581) + b; m[n, c] ~ Bernoulli(1 - p)",
        "bernoulli": "out[i] ~ Bernoulli(input[i])",
        "binomial": "out[i] ~ Binomial(count[i], prob[i])",
        "cauchy_": "out[i] ~ Cauchy(median, sigma)",
        "dropout": "input * m / (1 - p); m[i] ~ Bernoulli(1 - p)",
        **dict.fromkeys(
            ("dropout1d", "dropout2d", "dropout3d"),
            "input * m / (1 - p); m[n, c] ~ Bernoulli(1 - p)",
        ),
        "exponential_": "out[i] ~ Exponential(lambd)",
        "geometric_": "out[i] ~ Geometric(p)",
        "gumbel_softmax": "softmax((logits + G) / tau); G[i] ~ Gumbel(0, 1)",
        "log_normal_": "log(out[i]) ~ Normal(mean, std**2)",
        "multinomial": "out[i] ~ Categorical(input / sum[j](input[j]))",
        "normal": "out[i] ~ Normal(mean, std**2)",
        "poisson": "out[i] ~ Poisson(input[i])",
        **dict.fromkeys(("rand", "rand_like"), "out[i] ~ Uniform(0, 1)"),
        **dict.fromkeys(
            ("randint", "randint_like", "random_"), "out[i] ~ DiscreteUniform(low, high - 1)"
        ),
        **dict.fromkeys(("randn", "randn_like"), "out[i] ~ Normal(0, 1)"),
        "randperm": "{out[i]} == {0, ..., n - 1}",
        "uniform_": "out[i] ~ Uniform(low, high)",
        # reductions and statistics
        "allclose": "all[i](abs(input[i] - other[i]) <= atol + rtol * abs(other[i]))",
        "equal": "all[i](input[i] == other[i])",
        "corrcoef": "C[i, j] / sqrt(C[i, i] * C[j, j]); C = cov(input)",
        "cov": "out[i, j] = sum[k]((input[i, k] - m[i]) * (input[j, k] - m[j])) / (n - "
        "correction); m = mean(input)",
        "cumulative_trapezoid": "out[..., i, ...] = sum[k, 0, i](dx * (y[..., k, ...] + y[..., k + "
        "1, ...]) / 2)",
        **dict.fromkeys(
            ("trapezoid", "trapz"), "sum[i](dx * (y[..., i, ...] + y[..., i + 1, ...]) / 2)"
        ),
        "diff": "out[..., i, ...] = input[..., i + 1, ...] - input[..., i, ...]",
        "gradient": "out[i] = (input[i + 1] - input[i - 1]) / (2 * spacing)",
        "nanmean": "sum[i](input[i]) / n; not isnan(input[i])",
        "quantile": "sort(input)[q * (n - 1)]",
        "nanquantile": "sort(z)[q * (n - 1)]; z = input[not isnan(input)]",
        "bincount": "out[v] = sum[i](weights[i] if input[i] == v else 0)",
        "histc": "out[b] = sum[i](1 if e[b] <= input[i] < e[b + 1] else 0); e[b] = min + b * (max "
        "- min) / bins",
        **dict.fromkeys(
            ("histogram", "histogramdd"),
            "hist[b] = sum[i](weight[i] if e[b] <= input[i] < e[b + 1] else 0)",
        ),
        "bucketize": "sum[j](1 if boundaries[j] < input[i] else 0)",
        "searchsorted": "sum[j](1 if sorted_sequence[j] < input[i] else 0)",
        "argsort": "input[out[i]] <= input[out[i + 1]]",
        "msort": "out[i, ...] <= out[i + 1, ...]",
        "unique": "out[i] < out[i + 1]; {out[i]} == {input[j]}",
        "unique_consecutive": "out[i] != out[i + 1]",
        "argwhere": "input[out[k]] != 0",
        "nonzero": "input[out[k]] != 0",
        "nonzero_static": "input[out[k]] != 0",
        "isin": "1 if elements[i] in test_elements else 0",
        # vectors and matrices
        "bilinear": "out[n, o] = sum[i, j](input1[n, i] * weight[o, i, j] * input2[n, j]) + "
        "bias[o]",
        **dict.fromkeys(("chain_matmul", "multi_dot"), "matrices[0] @ ... @ matrices[n - 1]"),
        "cond": "norm(A, p) * norm(inverse(A), p)",
        "cosine_similarity": "sum[i](x1[i] * x2[i]) / (max(norm(x1), eps) * max(norm(x2), eps))",
        "einsum": "out[i, j] = sum[k](operands[0][i, k] * operands[1][k, j]); equation == "
        "'ik,kj->ij'",
        "eigvalsh": "A == Q @ diag(out) @ T(Q)",
        **dict.fromkeys(("ger", "outer"), "out[i, j] = input[i] * vec2[j]"),
        "inner": "out[i, j] = sum[k](input[i, k] * other[j, k])",
        **dict.fromkeys(("inv", "inverse"), "inverse(A)"),
        "kron": "out[i, j] = input[i // p, j // q] * other[i % p, j % q]",
        "linear": "input @ T(weight) + bias",
        "logdet": "log(det(A))",
        "lu_factor": "A == P @ L @ U",
        **dict.fromkeys(("matrix_norm", "norm"), "sum[i, j](abs(A[i, j])**2)**(1 / 2)"),
        "matrix_power": "A**n",
        "normalize": "input / max(norm(input, p), eps)",
        "orgqr": "prod[i](I - tau[i] * outer(input[:, i], input[:, i]))",
        "pairwise_distance": "sum[i](abs(x1[i] - x2[i] + eps)**p)**(1 / p)",
        "pinverse": "A @ out @ A == A; out @ A @ out == out",
        "solve": "A @ out == B",
        "svdvals": "A == U @ diag(out) @ T(V)",
        "tensordot": "out[i, j] = sum[k](a[i, k] * b[k, j])",
        "tensorinv": "inverse(A)",
        "tensorsolve": "A @ out == B",
        "vecdot": "sum[i](x[..., i, ...] * y[..., i, ...])",
        # normalization
        **dict.fromkeys(
            ("batch_norm", "group_norm", "instance_norm", "layer_norm"),
            "(input - mean) / sqrt(var + eps) * weight + bias",
        ),
        "local_response_norm": "input[c] / (k + alpha * sum[j](input[j]**2) / size)**beta; abs(j - "
        "c) <= size // 2",
        "rms_norm": "input / sqrt(sum[i](input[i]**2) / n + eps) * weight",
        "softmin": f"out[..., i, ...] = exp(-{INPUT}) / sum[k](exp(-input[..., k, ...]))",
        # losses
        "cosine_embedding_loss": "reduction[n](1 - c if target[n] == 1 else max(0, c - margin)); "
        "c = cosine_similarity(input1[n], input2[n])",
        "cross_entropy": "reduction[n](-weight[target[n]] * log(exp(input[n, target[n]]) / "
        "sum[j](exp(input[n, j]))))",
        "ctc_loss": "-log(sum[a](prod[t](exp(log_probs[t, a[t]])))); collapse(a) == targets",
        "gaussian_nll_loss": "reduction[i]((log(max(var[i], eps)) + (input[i] - target[i])**2 / "
        "max(var[i], eps)) / 2)",
        "hinge_embedding_loss": "reduction[i](input[i] if target[i] == 1 else max(0, margin - "
        "input[i]))",
        "kl_div": "reduction[i](target[i] * (log(target[i]) - input[i]))",
        "l1_loss": "reduction[i](abs(input[i] - target[i]))",
        "margin_ranking_loss": "reduction[i](max(0, -target[i] * (input1[i] - input2[i]) + "
        "margin))",
        "multilabel_soft_margin_loss": "reduction[n](sum[c](target[n, c] * log(1 + exp(-input[n, "
        "c]))"
        " + (1 - target[n, c]) * log(1 + exp(input[n, c]))) / C)",
        "poisson_nll_loss": "reduction[i](exp(input[i]) - target[i] * input[i])",
        **dict.fromkeys(
            ("triplet_margin_loss", "triplet_margin_with_distance_loss"),
            "reduction[n](max(0, distance(anchor[n], positive[n]) - distance(anchor[n], "
            "negative[n]) + margin))",
        ),
        # windows and images
        **dict.fromkeys(
            ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
            "out[n, o, y] = bias[o] + sum[c, k](input[n, c, x] * weight[c, o, k]); "
            "stride * x + dilation * k - padding == y",
        ),
        **dict.fromkeys(
            ("grid_sample", "grid_sampler"),
            "out[n, c, x] = sum[i](w[grid[n, x] - i] * input[n, c, i]); w[u] = prod[k](max(0, 1 - "
            "abs(u[k])))",
        ),
        **dict.fromkeys(
            ("interpolate", "upsample"), "out[x] = sum[i](w[u - i] * input[i]); u = x * n / size"
        ),
        "upsample_bilinear": "out[x] = sum[i](max(0, 1 - abs(u - i)) * input[i]); u = x * (n - 1) "
        "/ (size - 1)",
        "upsample_nearest": "out[x] = input[floor(x * n / size)]",
        **dict.fromkeys(
            ("lp_pool1d", "lp_pool2d", "lp_pool3d"),
            "out[x] = sum[k](input[stride * x + k]**norm_type)**(1 / norm_type)",
        ),
        "pad": "out[i] = input[i - before] if 0 <= i - before < n else value",
        "embedding_bag": "out[b, j] = sum[i](weight[input[i], j] if bag[i] == b else 0)",
        # elements moved
        **dict.fromkeys(
            ("concat", "concatenate"),
            "out[..., s[k] + i, ...] = tensors[k][..., i, ...]; s[k] = sum[m, 0, k - "
            "1](size(tensors[m], dim))",
        ),
        "hstack": "out[..., s[k] + i] = tensors[k][..., i]; s[k] = sum[m, 0, k - "
        "1](size(tensors[m], 1))",
        "column_stack": "out[..., s[k] + i] = tensors[k][..., i]; s[k] = sum[m, 0, k - "
        "1](size(tensors[m], 1))",
        **dict.fromkeys(
            ("vstack", "row_stack"),
            "out[s[k] + i, ...] = tensors[k][i, ...]; s[k] = sum[m, 0, k - 1](size(tensors[m], 0))",
        ),
        "dstack": "out[i, j, s[k] + m] = tensors[k][i, j, m]",
        "cartesian_prod": "out[k] = (tensors[0][i], tensors[1][j])",
        "combinations": "out[k] = (input[i], input[j]); i < j",
        "meshgrid": "out[k][i] = tensors[k][i[k]]",
        **dict.fromkeys(
            ("chunk", "tensor_split"), "out[k][..., i, ...] = input[..., s[k] + i, ...]"
        ),
        "vsplit": "out[k][i, ...] = input[s[k] + i, ...]",
        "hsplit": "out[k][:, i, ...] = input[:, s[k] + i, ...]",
        "dsplit": "out[k][:, :, i] = input[:, :, s[k] + i]",
        "diag": "out[i, j] = input[i] if j - i == diagonal else 0",
        "diagflat": "out[i, j] = flat(input)[i] if j - i == offset else 0",
        "fliplr": "out[i, j, ...] = input[i, n - 1 - j, ...]",
        "flipud": "out[i, ...] = input[n - 1 - i, ...]",
        **dict.fromkeys(
            words("""
                atleast_1d atleast_2d atleast_3d flatten ravel reshape_as squeeze unflatten view_as
            """),
            "flat(out)[i] = flat(input)[i]",
        ),
        **dict.fromkeys(
            ("broadcast_to", "broadcast_tensors", "expand_as", "tile"), "out[i] = input[i % n]"
        ),
        **dict.fromkeys(
            ("moveaxis", "movedim"), "out[i] = input[j]; j[source[k]] = i[destination[k]]"
        ),
        **dict.fromkeys(
            ("swapaxes", "swapdims"), "out[..., i, ..., j, ...] = input[..., j, ..., i, ...]"
        ),
        "narrow": "out[..., i, ...] = input[..., start + i, ...]",
        "repeat_interleave": "out[..., i * repeats + k, ...] = input[..., i, ...]; 0 <= k < "
        "repeats",
        "sum_to_size": "out[j] = sum[i](self[i, j])",
        "take_along_dim": "out[..., i, ...] = input[..., indices[..., i, ...], ...]",
        "unravel_index": "indices == sum[k](out[k] * stride[k])",
        "as_strided_copy": "out[i] = storage[storage_offset + sum[k](stride[k] * i[k])]",
        "fill_diagonal_": "out[i, j] = fill_value if i == j else self[i, j]",
    },
)
