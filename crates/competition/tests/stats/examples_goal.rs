//! Examples of sports with goalkeepers. The comments name the published lines.

use competition::stats::Sport::{
    FieldHockey, Floorball, Handball, IceHockey, Lacrosse, Soccer, WaterPolo,
};

use crate::examples::{Example, member, team};

pub(crate) const GOAL_SPORTS: &[Example] = &[
    // 45 goals in 3000 minutes are 1.35 per 90 minutes.
    member(
        Soccer,
        &["GP 36, SECONDS 180000, G 45, A 20, SH 180, SOG 99, PKG 9, PKA 12"],
        "PTS 110, SH_PCT 25.0%, SOG_PCT 55.0%, PK_PCT 75.0%, G_GP 1.25, G_90 1.35, A_90 0.60",
    ),
    member(Soccer, &["G 3", "G 2, A 4", "G 5"], "HT 2, PTS 24, G_GP 3.33, G_90 -"),
    // 4 goals against in 270 + 90 minutes.
    member(
        Soccer,
        &["GK_SECONDS 16200, SV 9, GA 4, W 2, L 1", "GK_SECONDS 5400, SV 3, GA 0, T 1, CS 1"],
        "SV_PCT 75.0%, GAA 1.00, W_PCT 62.5%, CS 1, GK_SECONDS 360:00",
    ),
    // Wayne Gretzky, 1981-82.
    member(
        IceHockey,
        &["GP 80, G 92, A 120, S 369, PPG 18, SHG 6, GWG 12"],
        "P 212, S_PCT 24.9%, P_GP 2.65",
    ),
    // Tim Thomas, 2010-11: 3364 minutes.
    member(
        IceHockey,
        &["GK_SECONDS 201840, SA 1811, EVGA 80, PPGA 30, SHGA 2, ENGA 3, W 35, L 11, OTL 9"],
        "GA 112, SV 1699, SV_PCT .938, GAA 2.00, GK_SECONDS 3364:00",
    ),
    member(
        IceHockey,
        &["G 3, TOI 1130, FO 20, FOW 11", "G 1, TOI 1215, FO 12, FOW 5"],
        "HT 1, FO_PCT 50.0%, TOI_GP 19:33",
    ),
    member(IceHockey, &["EVGA 2, GK_SECONDS 3600"], "SV -, SV_PCT -, GAA 2.00"),
    team(
        IceHockey,
        &["PPG 1, PPO 4, PPGA 1, PPOA 3", "PPG 1, PPO 3, PPGA 0, PPOA 5"],
        "PP_PCT 28.6%, PK_PCT 87.5%",
    ),
    member(Floorball, &["G 3, A 2, S 10", "A 1, S 5"], "P 6, S_PCT 20.0%, P_GP 3.00, HT 1"),
    member(Floorball, &["GK_SECONDS 2400, SV 24, GA 3"], "SV_PCT 88.9%, GAA 4.50"),
    team(Floorball, &["PPG 2, PPO 5, PPGA 1, PPOA 4"], "PP_PCT 40.0%, PK_PCT 75.0%"),
    member(
        Lacrosse,
        &["G 4, A 3, SH 10, SOG 7, FOA 20, FOW 13", "A 1"],
        "PTS 8, SH_PCT 40.0%, SOG_PCT 70.0%, FO_PCT 65.0%, PTS_GP 4.00",
    ),
    member(Lacrosse, &["GK_SECONDS 2700, SV 11, GA 9"], "SV_PCT .550, GAA 12.00"),
    team(
        Lacrosse,
        &["CLR 17, CLRA 20, EMG 2, EMO 5, MDO 4, MDG 1"],
        "CLR_PCT 85.0%, EMO_PCT 40.0%, MDD_PCT 75.0%",
    ),
    member(
        Handball,
        &["G 7, SH 10, 7MG 3, 7MA 4", "G 4, SH 10"],
        "SH_PCT 55.0%, 7M_PCT 75.0%, G_GP 5.5",
    ),
    member(Handball, &["SV 12, GA 20, GK_SECONDS 3000"], "SV_PCT 37.5%, GAA 24.00"),
    member(
        WaterPolo,
        &["G 3, SH 8, PSG 1, PSA 2, SP 4, SPW 3", "G 1, SH 2"],
        "SH_PCT 40.0%, PS_PCT 50.0%, SP_PCT 75.0%, G_GP 2.00",
    ),
    member(WaterPolo, &["SV 11, GA 9, GK_SECONDS 1440"], "SV_PCT 55.0%, GAA 12.00"),
    team(WaterPolo, &["EPG 5, EPO 12"], "EP_PCT 41.7%"),
    member(FieldHockey, &["G 2, A 1, SH 5", "G 1, SH 3"], "PTS 7, SH_PCT 37.5%, G_GP 1.50"),
    member(FieldHockey, &["SV 6, GA 2, GK_SECONDS 2400"], "SV_PCT 75.0%, GAA 3.00"),
    team(FieldHockey, &["PCG 2, PC 8"], "PC_PCT 25.0%"),
];
