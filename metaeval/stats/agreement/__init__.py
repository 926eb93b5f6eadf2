"""How far raters agree, and how reliable they are."""

from metaeval.stats.agreement.raters import cohen_kappa, concordance, intraclass, krippendorff_alpha

__all__ = ["cohen_kappa", "concordance", "intraclass", "krippendorff_alpha"]
